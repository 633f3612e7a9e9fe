"""What a user may import from ``lastword``: few names, all there, all documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lastword

REFERENCE = Path(__file__).parent.parent / "docs" / "reference" / "python.md"
PUBLIC_NAMES_MAX = 25


def test_the_public_names_are_few() -> None:
    assert len(lastword.__all__) <= PUBLIC_NAMES_MAX, (
        "leave the rest in its own module, from where those who need it can import it"
    )


@pytest.mark.parametrize("name", lastword.__all__)
def test_a_public_name_exists_and_explains_itself(name: str) -> None:
    assert getattr(lastword, name).__doc__, f"give {name} a docstring"


@pytest.mark.parametrize("name", lastword.__all__)
def test_a_public_name_is_in_the_reference(name: str) -> None:
    heading = re.compile(rf"^#+ .*`{re.escape(name)}\b", re.MULTILINE)
    assert heading.search(REFERENCE.read_text()), (
        f"add a section headed `{name}` to docs/reference/python.md"
    )


def test_what_can_be_loaded_is_what_is_listed() -> None:
    loadable = set(lastword._HOMES) | {"errors"}
    assert loadable == set(lastword.__all__), "keep _HOMES and __all__ in step"


def test_no_module_hides_a_public_name() -> None:
    inside = {path.stem for path in Path(lastword.__file__).parent.iterdir()}
    assert set(lastword._HOMES) & inside == set(), (
        "an import of that module would replace the name in the package"
    )


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Tabel"):
        _ = lastword.Tabel
