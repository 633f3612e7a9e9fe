"""What every test must keep to, each as a rule."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.sources import TESTS, assert_none, calls, name_of, nodes, nodes_of

PATIENCE_S = 180
WAITING_WORDS = {"timeout", "timeout_s", "timeout_seconds", "stall_timeout_s", "within_s"}


def test_tests_wait_for_conditions_and_never_sleep() -> None:
    assert_none(
        calls(TESTS, "time.sleep", "sleep", "asyncio.sleep"),
        "wait for the condition with a deadline (lastword.testing.wait_until)",
    )


def test_tests_run_coroutines_beside_the_browser() -> None:
    tests = [path for path in TESTS if path.name != "coroutines.py"]
    assert_none(calls(tests, "asyncio.run"), "call run_coroutine of tests/support/coroutines.py")


def test_tests_are_patient() -> None:
    """A short wait makes a test depend on how fast the machine is; success ends any wait."""
    found = [
        f"{name_of(path)}:{call.lineno} {ast.unparse(call)[:80]}"
        for path in TESTS
        for call in hurried_calls(path)
    ]
    assert_none(found, f"wait for {PATIENCE_S} s or longer; a wait meant to fail is exempt")


def test_no_test_asserts_how_fast_something_is() -> None:
    found = [
        f"{name_of(path)}:{node.lineno} {ast.unparse(node)}"
        for path, node in nodes(TESTS)
        if isinstance(node, ast.Assert)
        and re.search(r"(monotonic\(\)|perf_counter\(\)) - .*<|took_s.* < ", ast.unparse(node))
    ]
    assert_none(found, "speed belongs in benchmarks/, compared with something in the same run")


def hurried_calls(path: Path) -> Iterator[ast.Call]:
    expected_to_fail = {
        id(inside) for node in nodes_of(path) if is_meant_to_fail(node) for inside in ast.walk(node)
    }
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and id(node) not in expected_to_fail:
            named = [word.value for word in node.keywords if (word.arg or "") in WAITING_WORDS]
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            positional = node.args[:1] if called in {"wait", "join", "result"} else []
            if any(is_short(value) for value in (*named, *positional)) or is_hasty_request(node):
                yield node


def is_hasty_request(call: ast.Call) -> bool:
    """httpx waits five seconds by default; ``**options`` may set a timeout."""
    name = ast.unparse(call.func)
    asks = re.fullmatch(r"httpx\.(Client|AsyncClient|get|post|put|delete|stream|request)", name)
    return asks is not None and not {word.arg for word in call.keywords} & {"timeout", None}


def is_meant_to_fail(node: ast.AST) -> bool:
    """``with pytest.raises(...)`` and ``assert not ...``: the wait is to run out."""
    if isinstance(node, ast.With):
        return any("raises" in ast.unparse(item.context_expr) for item in node.items)
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
    return False


def is_short(value: ast.AST) -> bool:
    return (
        isinstance(value, ast.Constant)
        and isinstance(value.value, int | float)
        and 0 < value.value < PATIENCE_S
    )


def test_no_test_is_skipped() -> None:
    skips = {"skip", "skipif", "xfail", "importorskip"}
    found = [
        f"{name_of(path)}:{node.lineno} {ast.unparse(node)}"
        for path, node in nodes(TESTS)
        if isinstance(node, ast.Attribute) and node.attr in skips and "pytest" in ast.unparse(node)
    ]
    assert_none(found, "make it run everywhere, or delete it")


def test_every_test_asserts_something() -> None:
    toothless = [
        f"{name_of(path)}:{node.lineno} {node.name}"
        for path, node in nodes(TESTS)
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not any(makes_a_claim(inside) for inside in ast.walk(node))
    ]
    assert_none(toothless, "a test that cannot fail proves nothing")


def makes_a_claim(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func).rpartition(".")[2]
        return called.startswith(("assert_", "check_", "raises", "fail", "wait_until", "expect"))
    return False
