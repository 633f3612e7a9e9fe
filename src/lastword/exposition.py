"""Figures in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterable

from lastword.metric_names import HELP, NAMESPACE, kind_of
from lastword.metrics import Sample

MEDIA_TYPE = b"text/plain; version=0.0.4; charset=utf-8"


def exposition(samples: Iterable[Sample]) -> str:
    """The text, with the samples of a family together, as the format wants it."""
    families: dict[str, list[str]] = {}
    for sample in samples:
        family = _family(sample.name)
        families.setdefault(family, []).append(_line(sample))
    lines: list[str] = []
    for family, shown in families.items():
        lines.append(f"# HELP {NAMESPACE}{family} {HELP.get(family, 'Of a store of your own.')}")
        lines.append(f"# TYPE {NAMESPACE}{family} {kind_of(family)}")
        lines += shown
    return "\n".join(lines) + "\n"


def _family(name: str) -> str:
    for suffix in ("_bucket", "_sum", "_count"):
        base = name.removesuffix(suffix)
        if base != name and base in HELP:
            return base
    return name


def _line(sample: Sample) -> str:
    labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels)
    value = float(sample.value)
    shown = str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return (
        f"{NAMESPACE}{sample.name}{{{labels}}} {shown}"
        if labels
        else (f"{NAMESPACE}{sample.name} {shown}")
    )


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
