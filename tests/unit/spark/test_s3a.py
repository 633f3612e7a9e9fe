"""Spark and deltalake must find the same S3."""

from __future__ import annotations

import pytest

from lastword.spark.s3a import s3a_settings


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_another_server_is_asked_for_buckets_by_path(name: str) -> None:
    assert s3a_settings({name: "http://127.0.0.1:9000", "AWS_DEFAULT_REGION": "us-east-1"}) == {
        "spark.hadoop.fs.s3a.endpoint": "http://127.0.0.1:9000",
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }


def test_amazon_itself_is_found_without_settings() -> None:
    assert s3a_settings({}) == {}
