"""Whether Spark is installed: it is an extra of the package, because it has 400 MB."""

from __future__ import annotations

from importlib.util import find_spec

from lastword.errors import ConfigError


def spark_is_installed() -> bool:
    """Whether pipelines can run; declaring them needs no Spark."""
    return all(find_spec(name) is not None for name in ("pyspark", "pyarrow"))


def snapshots_are_installed() -> bool:
    """Whether snapshots can be taken and read."""
    return find_spec("deltalake") is not None


def require_spark() -> None:
    """Raise ConfigError where Spark is missing."""
    if not spark_is_installed():
        raise ConfigError(
            "pipelines run on Spark, which is not installed here",
            hint="pip install 'lastword[spark]'",
        )
