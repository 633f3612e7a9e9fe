"""``lastword pipeline describe``: the topology of a pipeline, as text or as a diagram."""

from __future__ import annotations

import click

from lastword.cli.support.app_context import AppContext, with_app
from lastword.cli.support.pipeline_target import load_pipeline


@click.command()
@with_app
@click.argument("target", metavar="MODULE:NAME")
@click.option("--mermaid", is_flag=True, help="Print a Mermaid flowchart instead of text.")
def describe(app: AppContext, target: str, mermaid: bool) -> None:
    """Print the topology of the pipeline NAME of the Python module MODULE.

    Shows its sources, operators and stores, and the topics that it writes. Needs neither Kafka
    nor Spark.
    """
    found = load_pipeline(target)
    app.output.line(found.describe("mermaid" if mermaid else "text"), found.topology)
