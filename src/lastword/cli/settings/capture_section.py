"""The settings of a section ``[cdc.NAME]``: one capture."""

from __future__ import annotations

from typing import get_args

from lastword.cdc.change import Transactions
from lastword.cli.settings.settings import Setting

CAPTURE_SETTINGS: tuple[Setting, ...] = (
    Setting(
        "url",
        str,
        None,
        "the database, as in postgresql://USER@HOST:5432/DATABASE; its password may be in "
        "PGPASSWORD or ~/.pgpass",
        secret=True,
    ),
    Setting("table", str, None, "the table in the database, as in public.orders"),
    Setting("where", str, None, "the rows to keep, as SQL's WHERE has them; default: all"),
    Setting("columns", str, None, "the columns to keep, with commas between them; default: all"),
    Setting(
        "password_reference",
        str,
        None,
        "what the config provider of your own Connect cluster has the password under",
    ),
    Setting(
        "transactions",
        str,
        "last",
        "last: a row is written once per commit of the pipeline; ordered: every change is a "
        "record, in the order of the database's log",
        choices=get_args(Transactions),
    ),
)
