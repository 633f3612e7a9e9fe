"""Reading a whole log to count what is in it, with a progress bar."""

from __future__ import annotations

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.progress_bar import progress_bar
from lastword.kafka.admin import Admin
from lastword.topics.survey import Survey, survey_topic


def survey_with_progress(app: AppContext, admin: Admin, topic: str) -> Survey:
    """What the topic holds; a person sees how far reading has come."""
    with progress_bar(app.output, "reading") as report:
        return survey_topic(
            admin, app.log_source, topic, lambda done, total: report(done, total, topic)
        )
