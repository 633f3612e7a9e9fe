#!/usr/bin/env bash
# Runs tests on a native module that AddressSanitizer watches: memory used after it was freed, or
# beyond its end, ends the run. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

copy=build/sanitized
rm -rf "$copy" && mkdir -p "$copy"
cp -R src/lastword "$copy/"
.venv/bin/python - "$copy/lastword/_native.abi3.so" << 'END'
import runpy, sys
from pathlib import Path

hook = runpy.run_path("hatch_build.py")
flags = ("-g", "-O1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
if failure := hook["why_not"]() or hook["compile_module"](Path(sys.argv[1]), *flags):
    sys.exit(failure)
END
# Java and other children would not start with it.
echo 'import os; os.environ.pop("LD_PRELOAD", None)' > "$copy/sitecustomize.py"
preload="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)"
# Python frees little at its end, and its own allocator would hide what is freed too early. The
# report goes to a file, because pytest keeps what is written to stderr.
status=0
LD_PRELOAD="$preload" ASAN_OPTIONS="detect_leaks=0:log_path=$PWD/$copy/report" \
    UBSAN_OPTIONS="print_stacktrace=1:log_path=$PWD/$copy/report" \
    PYTHONMALLOC=malloc PYTHONPATH="$copy" .venv/bin/python -m pytest -q -p no:cacheprovider "$@" || status=$?
cat "$copy"/report.* 2> /dev/null || true
exit $status
