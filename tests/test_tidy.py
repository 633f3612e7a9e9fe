"""Habits of this codebase, each as a rule with its exceptions listed by name."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.sources import (
    PACKAGE,
    PYTHON,
    ROOT,
    assert_none,
    calls,
    name_of,
    nodes,
    tracked,
)

FILE_LINES_MAX = 350
FUNCTION_LINES_MAX = 60

# path -> why it is longer than FILE_LINES_MAX.
LONG_FILES: dict[str, str] = {"src/lastword/errors.py": "the whole tree of errors in one place"}

# path -> why it must catch everything there.
BLIND_EXCEPTS: dict[str, str] = {
    "src/lastword/pipelines/operators/fold_operator.py": "user code may raise anything",
    "src/lastword/pipelines/operators/deduplicate.py": "user code may raise anything",
    "src/lastword/pipelines/operators/join.py": "user code may raise anything",
    "src/lastword/pipelines/operators/lru_operator.py": "user code may raise anything",
    "src/lastword/pipelines/operators/mirror.py": "user code may raise anything",
    "src/lastword/pipelines/operators/session_operator.py": "user code may raise anything",
    "src/lastword/pipelines/operators/steps.py": "user code may raise anything",
    "src/lastword/pipelines/task/task_input.py": "user code may raise anything",
    "src/lastword/pipelines/real_time/live_query.py": "Spark and on_batch may raise anything",
    "src/lastword/cluster/offers.py": "a table that fails must not stop the others",
    "src/lastword/cluster/peers/endpoint.py": "every failure becomes an answer, and is logged",
    "src/lastword/service/http/admission.py": "every failure becomes a logged 500",
    "src/lastword/service/http/last_resort.py": "every failure becomes a logged 500",
    "src/lastword/table/partitioned/placement.py": "what fails is logged, and tried again",
    "src/lastword/table/listening.py": "user code may raise anything",
    "src/lastword/patterns/config_store.py": "user code may raise anything",
    "src/lastword/replicas/tail/replica_starter.py": "the tailing thread raises it",
    "src/lastword/replicas/tail/inbox.py": "whoever called raises it",
    "src/lastword/replicas/tail/tailer.py": "the table must learn why its thread ended",
    "src/lastword/writer/owned/partition_owner.py": "an owner that fails starts again",
    "src/lastword/replicas/sweep/schedule.py": "whatever a sweep failed of, it is tried again",
}

# Names that say nothing about what is inside; such modules collect everything and cause cycles.
EMPTY_NAMES = {"utils", "util", "common", "helpers", "helper", "misc", "models", "shared", "types"}

# Types and files that share a name -> why both keep it. The command line names its files after
# commands and the client mirrors the service, so neither counts.
SHARED_TYPE_NAMES = {
    "ChangeStream": "the records of a benchmark; the change events that a pipeline mirrors",
    "Context": "where a codec is used (public); what a request of the service can use",
    "Finding": "a check of a topic; a check of a database",
    "Operation": "a row of the HTTP interface; what a change event did",
    "RowChange": "a change of a table's row; a change of a database's row",
    "Session": "of a user (public); with a database",
    "Snapshot": "a Delta table at a position; Debezium's first read of a database",
}
SHARED_FILE_NAMES = {
    "base": "the protocol of a package",
    "check": "of a topic; of a database",
    "conditions": "of an HTTP request; of a table's write",
    "messages": "between a driver and its tasks; between the instances of a table",
    "names": "of consumer groups; of a database's parts",
    "routing": "of writes to owners; of reads to holders",
    "runtime": "one for each Java program",
    "versions": "of a schema's class; of a key's value",
}

# Written so that no pattern matches this very file.
FOREIGN_TEXT = {
    r"(?:pypi|pythonhosted)\.(?:org|io)": "a registry's address; tools have settings for it",
    r"repo\d*\.maven(?:\.apache)?\.org": "a registry's address; tools have settings for it",
    r"maven-central\.storage|registry\.npmjs\.org|crates\.io/api": "a registry's address",
    r"(?<![\w.$}])/(?:work|root)/": "a path of one machine",
    r"(?<![\w.])/home/(?!alice\b)\w+": "a path of one machine",
}


def test_files_are_short_enough_to_read_in_one_go() -> None:
    long = [
        f"{name_of(path)} has {lines} lines"
        for path in PYTHON
        if (lines := path.read_text().count("\n")) > FILE_LINES_MAX
        and name_of(path) not in LONG_FILES
    ]
    assert_none(long, f"split by idea (at most {FILE_LINES_MAX} lines), or list it in LONG_FILES")


def test_the_list_of_long_files_is_not_stale() -> None:
    stale = [
        name
        for name in LONG_FILES
        if not (ROOT / name).exists() or (ROOT / name).read_text().count("\n") <= FILE_LINES_MAX
    ]
    assert_none(stale, "these are short now; take them out of LONG_FILES")


def test_functions_fit_on_a_screen() -> None:
    long = [
        f"{name_of(path)}:{node.lineno} {node.name} has {lines} lines"
        for path, node in nodes(PYTHON)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]
    assert_none(long, f"give the steps names of their own (at most {FUNCTION_LINES_MAX} lines)")


def test_modules_are_named_after_what_they_hold() -> None:
    empty = [
        name_of(path)
        for path in PACKAGE
        if EMPTY_NAMES & {part.removesuffix(".py") for part in path.relative_to(ROOT).parts}
    ]
    assert_none(empty, "name the module after its idea")


def test_a_name_means_one_thing() -> None:
    types: dict[str, set[Path]] = {}
    files: dict[str, set[Path]] = {}
    for path in sorted((ROOT / "src" / "lastword").rglob("*.py")):
        package = path.relative_to(ROOT / "src" / "lastword").parts[0]
        if package in ("cli", "client") or path.name == "__init__.py":
            continue
        files.setdefault(path.stem, set()).add(path)
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                types.setdefault(node.name, set()).add(path)
    for known, allowed in ((types, SHARED_TYPE_NAMES), (files, SHARED_FILE_NAMES)):
        shared = {name for name, places in known.items() if len(places) > 1}
        assert shared == set(allowed), (
            "choose another name for one of them, or say why both keep it (or take a stale reason "
            f"out): {sorted(shared ^ set(allowed))}"
        )


def test_only_the_clock_knows_the_wall_time() -> None:
    others = [path for path in PACKAGE if path.name != "clock.py"]
    found = calls(
        others,
        "time.time",
        "time.time_ns",
        "datetime.now",
        "datetime.utcnow",
        "datetime.datetime.now",
        "datetime.today",
        "date.today",
    )
    assert_none(
        found, "take a lastword.clock.Clock as an argument, so that a test can set the time"
    )


def test_only_the_command_line_prints() -> None:
    command_line = ROOT / "src" / "lastword" / "cli"
    library = [path for path in PACKAGE if not path.is_relative_to(command_line)]
    assert_none(calls(library, "print", "sys.stdout.write", "sys.stderr.write"), "use logging")


def test_no_error_is_caught_blindly() -> None:
    blind = [
        f"{name_of(path)}:{node.lineno}"
        for path, node in nodes(PACKAGE)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"})
        and not any(isinstance(inside, ast.Raise) for inside in ast.walk(node))
        and name_of(path) not in BLIND_EXCEPTS
    ]
    assert_none(blind, "name the errors that can happen, or raise again")


def test_no_comment_has_a_todo() -> None:
    word = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    found = [
        f"{name_of(path)}:{number}"
        for path in tracked()
        if path.suffix in {".py", ".md", ".toml", ".sh", ".java"} or path.name == "Makefile"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if word.search(line)
    ]
    assert_none(found, "do it, or open an issue and say nothing here")


@pytest.mark.parametrize("pattern", FOREIGN_TEXT)
def test_no_file_names_a_registry_or_a_machine(pattern: str) -> None:
    expression = re.compile(pattern)
    found = []
    for path in tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue  # a picture holds no address a tool would follow
        found += [
            f"{name_of(path)}:{number}"
            for number, line in enumerate(text.splitlines(), 1)
            if expression.search(line)
        ]
    assert_none(found, f"take it out, it is {FOREIGN_TEXT[pattern]}")


def test_the_lock_holds_names_versions_and_hashes_only() -> None:
    line_of_lock = re.compile(
        r"^(?:[a-z0-9-]+==[\w.]+(?: ; [^#:/]+)? \\|    --hash=sha256:[0-9a-f]{64}(?: \\)?)$"
    )
    found = [
        f"{name_of(path)}:{number} {line}"
        for path in (ROOT / "requirements").glob("*.txt")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if not line_of_lock.match(line)
    ]
    assert_none(found, "write the lock with `make lock`")
