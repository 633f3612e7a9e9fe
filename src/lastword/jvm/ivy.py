"""Runs the Apache Ivy that ships inside PySpark, so that jars come without Maven."""

from __future__ import annotations

import importlib.util
import subprocess
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from xml.sax.saxutils import quoteattr

from lastword.errors import JavaError
from lastword.jvm.java import Java

# Names no repository: where Ivy's own settings look, without the descriptors of modules.
_WITHOUT_DESCRIPTORS = Path(__file__).with_name("ivy_files_only.xml")
_TIMEOUT_SECONDS = 30 * 60
_LINES_OF_ERROR_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A module of a Maven repository; ``transitive`` asks for what it needs as well.

    ``classifier`` and ``extension`` name another file of it than its jar.
    """

    organisation: str
    name: str
    revision: str
    transitive: bool = True
    classifier: str | None = None
    extension: str = "jar"


def find_ivy() -> Path:
    """The Ivy jar inside the installed PySpark; PySpark itself is not imported."""
    spec = importlib.util.find_spec("pyspark")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for jar in sorted(Path(folder, "jars").glob("ivy-*.jar")):
            return jar
    raise JavaError(
        "the jars are not here yet, and PySpark, whose Ivy downloads them, is not installed",
        hint="pip install 'lastword[local]'",
    )


def retrieve(
    java: Java,
    roots: Sequence[Coordinate],
    *,
    into: Path,
    ivy_home: Path,
    settings: Path | None,
    on_line: Callable[[str], None],
    excluded: Sequence[str] = (),
    files_only: bool = False,
) -> None:
    """Put the jars of ``roots`` and of what they need into the directory ``into``.

    Ivy's cache goes below ``ivy_home`` and never into the user's home directory. ``settings`` is a
    company's own ``ivysettings.xml``. ``on_line`` sees each line Ivy writes. ``excluded`` names
    modules that are there already. With ``files_only`` the descriptors of the roots, which list
    their dependencies, are not read.
    """
    if settings is not None and not settings.is_file():
        raise JavaError(f"there is no Ivy settings file {settings}")
    ivy_home.mkdir(parents=True, exist_ok=True)
    module = ivy_home / "ivy.xml"
    module.write_text(_module_descriptor(roots, excluded), encoding="utf-8")
    if settings is None and files_only:
        settings = _WITHOUT_DESCRIPTORS
    # The first compiler alone: Ivy is done before the second would pay off.
    command = java.command("-XX:TieredStopAtLevel=1", f"-Divy.default.ivy.user.dir={ivy_home}")
    command += ["-jar", str(find_ivy())]
    if settings is not None:
        command += ["-settings", str(settings)]
    command += ["-ivy", str(module), "-confs", "default"]
    # Some libraries publish their jar as an OSGi "bundle"; without that type it would be left
    # out silently, and with no -types at all sources and documentation would come along.
    command += ["-types", "jar", "bundle", *{each.extension for each in roots} - {"jar"}]
    command += ["-retrieve", str(into / "[artifact]-[revision].[ext]")]
    status, last_lines = _run(command, on_line)
    if status != 0:
        raise JavaError(
            "the jars could not be downloaded:\n" + "\n".join(last_lines),
            hint="Check the network. Behind a company repository, pass its ivysettings.xml; "
            "for a proxy, set JAVA_TOOL_OPTIONS=-Dhttps.proxyHost=... -Dhttps.proxyPort=...; for "
            "a certificate that this Java does not trust, -Djavax.net.ssl.trustStore=FILE there",
        )


def _run(command: Sequence[str], on_line: Callable[[str], None]) -> tuple[int, Sequence[str]]:
    last_lines: deque[str] = deque(maxlen=_LINES_OF_ERROR_SHOWN)
    with subprocess.Popen(  # noqa: S603 - Java and PySpark's Ivy
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        limit = Timer(_TIMEOUT_SECONDS, process.kill)
        limit.daemon = True
        limit.start()
        try:
            for line in process.stdout:
                if text := line.strip(" .\t\n"):
                    last_lines.append(text)
                    on_line(text)
        except BaseException:
            process.kill()
            raise
        finally:
            limit.cancel()
    return process.returncode, last_lines


def _module_descriptor(roots: Sequence[Coordinate], excluded: Sequence[str]) -> str:
    # One descriptor for all roots: one run of Ivy, and one version of each library for them all.
    dependencies = "\n".join(
        f"    <dependency org={quoteattr(root.organisation)} name={quoteattr(root.name)} "
        f"rev={quoteattr(root.revision)} conf='default->default' "
        f"transitive='{str(root.transitive).lower()}'>{_artifact(root)}</dependency>"
        for root in roots
    )
    excludes = "".join(f"\n    <exclude module={quoteattr(name)}/>" for name in excluded)
    return f"""<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="lastword" module="jars"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}{excludes}
  </dependencies>
</ivy-module>
"""


def _artifact(root: Coordinate) -> str:
    """The wanted file of the module, if it is not its jar."""
    if root.classifier is None:
        return ""
    kind = quoteattr(root.extension)
    return (
        f"<artifact name={quoteattr(root.name)} type={kind} ext={kind} "
        f"m:classifier={quoteattr(root.classifier)}/>"
    )
