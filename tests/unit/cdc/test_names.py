"""What belongs to a capture is called after it."""

from __future__ import annotations

import pytest

from lastword.cdc.postgres.connector import connector_config
from lastword.cdc.postgres.names import SourceTable
from lastword.errors import ConfigError

LOGIN = {"hostname": "db", "port": "5432", "dbname": "shop", "user": "reader", "password": "sesame"}


def test_a_table_is_in_the_schema_public_unless_it_says_otherwise() -> None:
    assert str(SourceTable.parse("orders")) == "public.orders"
    assert str(SourceTable.parse("sales.orders")) == "sales.orders"


def test_everything_has_the_name_of_the_capture() -> None:
    table = SourceTable.parse("sales.orders", "eu-orders")
    assert (table.connector, table.slot) == ("cdc-eu-orders", "lastword_eu_orders")
    assert table.topic == "cdc-eu-orders.sales.orders"
    assert '"lastword_eu_orders" FOR TABLE "sales"."orders"' in table.create_publication


@pytest.mark.parametrize("text", ["", "a.b.c", "Orders", "public.odd name"])
def test_a_name_that_cannot_be_one_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        SourceTable.parse(text)


def test_the_connector_has_a_reference_instead_of_the_password() -> None:
    config = connector_config(SourceTable.parse("orders"), LOGIN, "${file:/x:secret}")
    assert config["database.password"] == "${file:/x:secret}"
    assert "sesame" not in repr(config)


def test_the_connector_takes_the_one_table_and_no_other() -> None:
    config = connector_config(SourceTable.parse("sales.a+b", "ab"), LOGIN, "x")
    assert config["table.include.list"] == r"sales\.a\+b"
