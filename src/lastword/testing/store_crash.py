"""A process that applies batch after batch to a store until it is killed.

Run by ``PersistentStoreContract`` as ``python -m lastword.testing.store_crash FILE CLASS
DIRECTORY``: the class of that file knows how to make the store. Every finished batch is one line
of output with its number.
"""

from __future__ import annotations

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from lastword.stores.base import Store

KEYS = [b"key-%04d" % n for n in range(2000)]


def batch(number: int) -> tuple[dict[bytes, bytes], set[bytes]]:
    """Puts and deletes of a batch: every key has its number, or is absent in every third."""
    deletes = {key for place, key in enumerate(KEYS) if (place + number) % 3 == 0}
    return {key: b"%050d" % number for key in KEYS if key not in deletes}, deletes


def main(file: str, class_name: str, directory: str) -> None:
    """Apply batches for ever, each with its number as the checkpoint."""
    store = _store(Path(file), class_name, Path(directory))
    store.open()
    number = int(store.checkpoint() or b"0") + 1
    prepared = batch(number)
    while True:
        store.apply(*prepared, b"%d" % number)
        done, number = number, number + 1
        prepared = batch(number)
        # Whoever kills on seeing this line hits the next apply, which begins right now.
        os.write(sys.stdout.fileno(), b"%d\n" % done)


def _store(file: Path, class_name: str, directory: Path) -> Store:
    spec = spec_from_file_location("contract_under_test", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    store: Store = getattr(module, class_name)().make_store(directory)
    return store


if __name__ == "__main__":
    main(*sys.argv[1:])
