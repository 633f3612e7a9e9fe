#!/bin/sh
# Sees to it that a Chromium is there for the browser tests, and prints where it is.
#
# Nothing is fetched when one is installed already, so a second run works offline. As root on a
# system with apt, Debian's own package is installed; anywhere else it says what is missing.
set -eu

find_chromium() {
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        if command -v "$name"; then
            return 0
        fi
    done
    return 1
}

if find_chromium; then
    exit 0
fi

if command -v apt-get > /dev/null && [ "$(id -u)" -eq 0 ]; then
    echo "installing Debian's chromium for the browser tests (once)" >&2
    export DEBIAN_FRONTEND=noninteractive
    # The lists may be old or missing in a fresh container; a failure to renew them is no reason yet.
    apt-get update --quiet=2 >&2 || echo "apt-get update failed; trying with the lists there are" >&2
    if apt-get install --quiet=2 --yes --no-install-recommends chromium >&2 && find_chromium; then
        exit 0
    fi
fi

cat >&2 << 'END'
The browser tests need Chromium or Chrome, and none of chromium, chromium-browser, google-chrome
and google-chrome-stable is on the PATH. Install one:

    Debian:    sudo apt-get install chromium
    Ubuntu:    sudo snap install chromium
    Fedora:    sudo dnf install chromium
    macOS:     put Chrome's binary on the PATH as google-chrome
END
exit 1
