"""What a user may import from ``lastword``: few names, all there, all documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lastword

REFERENCE = Path(__file__).parent.parent / "docs" / "reference" / "python.md"
PUBLIC_NAMES_MAX = 20


def test_the_public_names_are_few_and_sorted() -> None:
    names = [name for name in lastword.__all__ if name != "__version__"]
    assert names == sorted(names, key=str.casefold), "sort lastword.__all__"
    assert len(names) <= PUBLIC_NAMES_MAX, (
        "leave the rest in its own module, from where those who need it can import it"
    )


@pytest.mark.parametrize("name", lastword.__all__)
def test_a_public_name_exists_and_explains_itself(name: str) -> None:
    thing = getattr(lastword, name)
    assert name == "__version__" or thing.__doc__, f"give {name} a docstring"


@pytest.mark.parametrize("name", lastword.__all__)
def test_a_public_name_is_in_the_reference(name: str) -> None:
    heading = re.compile(rf"^#+ `(?:lastword\.)?{re.escape(name)}\b", re.MULTILINE)
    assert name == "__version__" or heading.search(REFERENCE.read_text()), (
        f"add a section headed `{name}` to docs/reference/python.md"
    )


def test_nothing_public_is_left_out_of_the_list() -> None:
    public = {
        name
        for name, thing in vars(lastword).items()
        if not name.startswith("_") and not isinstance(thing, type(lastword))
    }
    assert public - {"annotations"} <= set(lastword.__all__), (
        "import under a leading underscore, or add to lastword.__all__ and docs/reference/python.md"
    )
