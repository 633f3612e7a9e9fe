/* JSON texts, token by token. What is not plainly right is "unsure": another decoder decides. */
#ifndef LASTWORD_JSON_TEXT_H
#define LASTWORD_JSON_TEXT_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const unsigned char *at;
    const unsigned char *end; /* where a readable zero byte stands, as in Python's bytes */
} json_text_t;

typedef struct {
    const unsigned char *start; /* between the quotes */
    size_t size;
    size_t characters; /* after unescaping */
    int escaped;
} json_string_t;

typedef struct {
    const unsigned char *start, *end;
    int is_integer;
    int64_t digits; /* all of them as one number, without the sign; -1 for a long one, or one with an exponent */
    size_t parts;   /* how many of them are after the point */
} json_number_t;

static inline void json_skip_space(json_text_t *text) {
    while (*text->at == ' ' || *text->at == '\n' || *text->at == '\r' || *text->at == '\t') text->at++;
}

/* These move behind the token and return 1, or return 0: unsure. json_real also is if it would be infinite. */
int json_string(json_text_t *text, json_string_t *found);
int json_number(json_text_t *text, json_number_t *found);
int json_real(const json_number_t *number, double *real);
int json_word(json_text_t *text, const char *word, size_t size);

/* The string without escapes, in UTF-8, in a buffer of at least its size; returns the new size. */
size_t json_unescape(const json_string_t *string, unsigned char *into);

#endif
