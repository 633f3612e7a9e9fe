#include "json_text.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <string.h>

#define DIGITS_MAX 18 /* fit into 63 bits whatever they are */
#define EXACT_INTEGER (UINT64_C(1) << 53)

/* All of them are exact. */
static const double POWERS[DIGITS_MAX + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                              1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};

static int follows(const unsigned char *at, int low, int high) { return *at >= low && *at <= high; }

/* The size of the character of several bytes at ``at``, or 0. The zero byte at the end ends it. */
static size_t utf8_size(const unsigned char *at) {
    int low = *at == 0xe0 ? 0xa0 : *at == 0xf0 ? 0x90 : 0x80; /* no shorter form exists */
    int high = *at == 0xed ? 0x9f : *at == 0xf4 ? 0x8f : 0xbf; /* no surrogates, nothing too large */
    size_t size = follows(at, 0xc2, 0xdf) ? 2 : follows(at, 0xe0, 0xef) ? 3 : follows(at, 0xf0, 0xf4) ? 4 : 0;
    if (!size || !follows(at + 1, low, high)) return 0;
    for (size_t i = 2; i < size; i++)
        if (!follows(at + i, 0x80, 0xbf)) return 0;
    return size;
}

static int hex_digit(int c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The number in \uXXXX, or -1. */
static int32_t unit_at(const unsigned char *at) {
    if (at[0] != '\\' || at[1] != 'u') return -1;
    int32_t unit = 0;
    for (int i = 2; i < 6; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0) return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* The character of the escape at ``at`` and how many bytes it takes there; -1 if unsure. */
static int32_t escaped_at(const unsigned char *at, size_t *size) {
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *name = at[1] ? strchr(names, at[1]) : NULL;
    *size = 2;
    if (name) return meanings[name - names];
    int32_t unit = unit_at(at), low;
    *size = 6;
    if (unit < 0xd800 || unit > 0xdfff) return unit;
    if (unit > 0xdbff || (low = unit_at(at + 6)) < 0xdc00 || low > 0xdfff) return -1;
    *size = 12;
    return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

#define EIGHT(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Whether one of the eight bytes ends a string, begins an escape or is not plain ASCII. */
static int any_special(uint64_t bytes) {
    uint64_t quotes = bytes ^ EIGHT('"'), slashes = bytes ^ EIGHT('\\'), ones = EIGHT(1);
    uint64_t found = (quotes - ones) & ~quotes; /* the high bit of the first zero byte */
    found |= (slashes - ones) & ~slashes;
    found |= (bytes - EIGHT(0x20)) & ~bytes;
    return ((found | bytes) & EIGHT(0x80)) != 0;
}

static const unsigned char *skip_plain(const unsigned char *at, const unsigned char *end) {
    uint64_t bytes;
    for (; end - at >= 8; at += 8) {
        memcpy(&bytes, at, sizeof bytes);
        if (any_special(bytes)) break;
    }
    return at;
}

int json_string(json_text_t *text, json_string_t *found) {
    size_t more_bytes = 0, size;
    if (*text->at != '"') return 0;
    const unsigned char *at = skip_plain(text->at + 1, text->end);
    found->start = text->at + 1;
    found->escaped = 0;
    for (; *at != '"'; at += size) {
        size = 1;
        if (*at == '\\') {
            if (escaped_at(at, &size) < 0) return 0;
            found->escaped = 1;
        } else if (*at >= 0x80) {
            if (!(size = utf8_size(at))) return 0;
        } else if (*at < 0x20) { /* also the end */
            return 0;
        }
        more_bytes += size - 1;
    }
    found->size = (size_t)(at - found->start);
    found->characters = found->size - more_bytes;
    text->at = at + 1;
    return 1;
}

static size_t put_utf8(int32_t c, unsigned char *into) {
    if (c < 0x80) {
        into[0] = (unsigned char)c;
        return 1;
    }
    size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i; i--, c >>= 6) into[i] = (unsigned char)(0x80 | (c & 0x3f));
    into[0] = (unsigned char)((size == 2 ? 0xc0 : size == 3 ? 0xe0 : 0xf0) | c);
    return size;
}

size_t json_unescape(const json_string_t *string, unsigned char *into) {
    unsigned char *out = into;
    const unsigned char *at = string->start, *end = at + string->size;
    while (at < end) {
        size_t size = 1;
        if (*at == '\\')
            out += put_utf8(escaped_at(at, &size), out);
        else
            *out++ = *at;
        at += size;
    }
    return (size_t)(out - into);
}

static const unsigned char *skip_digits(const unsigned char *at) {
    while (follows(at, '0', '9')) at++;
    return at;
}

/* The number that these digits are, of which there are at most DIGITS_MAX. */
static int64_t digits_of(const unsigned char *at, const unsigned char *end, int64_t so_far) {
    for (; at < end; at++) so_far = so_far * 10 + (*at - '0');
    return so_far;
}

/* Python's own conversion, which rounds correctly; few numbers need it. */
static int converted(const json_number_t *number, double *real) {
    char *parsed_to;
    *real = PyOS_string_to_double((const char *)number->start, &parsed_to, NULL);
    if (PyErr_Occurred()) PyErr_Clear();
    return parsed_to == (const char *)number->end && isfinite(*real);
}

int json_real(const json_number_t *number, double *real) {
    /* Both numbers are exact as a double, so that their quotient is rounded correctly. */
    if (number->digits < 0 || (uint64_t)number->digits > EXACT_INTEGER) return converted(number, real);
    *real = (double)number->digits / POWERS[number->parts];
    if (*number->start == '-') *real = -*real;
    return 1;
}

int json_number(json_text_t *text, json_number_t *found) {
    const unsigned char *start = text->at, *whole = start + (*start == '-');
    const unsigned char *point = skip_digits(whole), *end = point;
    if (point == whole || (*whole == '0' && point > whole + 1)) return 0;
    if (*point == '.' && (end = skip_digits(point + 1)) == point + 1) return 0;
    const unsigned char *mantissa_end = end;
    if (*end == 'e' || *end == 'E') {
        end += end[1] == '-' || end[1] == '+' ? 2 : 1;
        const unsigned char *exponent = end;
        if ((end = skip_digits(exponent)) == exponent) return 0;
    }
    found->start = start;
    found->end = text->at = end;
    found->is_integer = end == point;
    found->parts = point < mantissa_end ? (size_t)(mantissa_end - point) - 1 : 0;
    found->digits = -1;
    if ((size_t)(point - whole) + found->parts > DIGITS_MAX || end > mantissa_end) return !found->is_integer;
    found->digits = digits_of(whole, point, 0);
    if (found->parts) found->digits = digits_of(point + 1, mantissa_end, found->digits);
    return 1;
}

int json_word(json_text_t *text, const char *word, size_t size) {
    if (strncmp((const char *)text->at, word, size)) return 0;
    text->at += size;
    return 1;
}
