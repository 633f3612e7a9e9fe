"""Of a traceback over two languages, a user is told the line that matters."""

from __future__ import annotations

from lastword.errors import FencedError, PipelineError
from lastword.pipelines.run.failures import failure_of

WORKER = """An exception was raised by the Python Proxy. Traceback (most recent call last):
  File "query.py", line 1, in _run_batch
    raise converted from None
pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "worker.py", line 2, in read_udfs
    raise ValueError("no: such")
{raised}

JVM stacktrace:
\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:1)
"""


def test_the_error_of_the_users_code_is_reported() -> None:
    error = failure_of("shop", WORKER.format(raised="ModuleNotFoundError: No module named 'mine'"))
    assert isinstance(error, PipelineError)
    assert str(error) == "'shop' failed: ModuleNotFoundError: No module named 'mine'"


def test_a_lastword_error_is_reported_even_inside_other_errors() -> None:
    text = WORKER.format(raised="lastword.errors.PipelineError: too many windows")
    text += "org.apache.spark.SparkException: Job aborted\n"
    assert "too many windows" in str(failure_of("shop", text))


def test_being_replaced_stays_what_it_is() -> None:
    text = WORKER.format(raised="lastword.errors.FencedError: the membership has ended")
    error = failure_of("shop", text)
    assert isinstance(error, FencedError)
    assert "the membership has ended" in str(error)


def test_a_text_without_a_traceback_is_reported_unchanged() -> None:
    assert str(failure_of("shop", "out of memory")) == "'shop' failed: out of memory"
    assert "no reason is given" in str(failure_of("shop", ""))
