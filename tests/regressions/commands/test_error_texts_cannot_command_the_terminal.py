"""Notes and lines for people are escaped where they are printed, not where they are made.

Some callers quoted an error, which may quote a topic, without escaping it.
"""

from __future__ import annotations

import pytest

from lastword.cli.support.output import CommandOutput

HOSTILE = "bad \x1b]0;owned\x07\x9b2J\u202e value"
ESCAPED = "bad \\x1b]0;owned\\x07\\x9b2J\\u202e value"


def test_notes_and_lines_are_escaped_and_keep_their_line_breaks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output = CommandOutput(json_lines=False)
    output.info(f"ended:\n{HOSTILE}")
    output.line(f"  {HOSTILE}\n", {})
    printed = capsys.readouterr()
    assert printed.err == f"ended:\n{ESCAPED}\n"
    assert printed.out == f"  {ESCAPED}\n\n"


def test_escaped_text_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    CommandOutput(json_lines=False).line(ESCAPED, {})
    assert capsys.readouterr().out == ESCAPED + "\n"
