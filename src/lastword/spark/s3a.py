"""Spark's settings for S3 and compatible storage."""

from __future__ import annotations

from collections.abc import Mapping

from lastword.jvm.ivy import Coordinate
from lastword.jvm.jar_set import JarSet

S3A = "s3a://"

# As the Hadoop that comes with Spark. Fetched only for a place in S3: 690 MB, most of it Amazon's.
SPARK_S3A_JARS = JarSet(
    "spark-s3a-3.5.0", (Coordinate("org.apache.hadoop", "hadoop-aws", "3.5.0"),)
)


def s3a_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """The S3 settings that deltalake takes from the environment variables of Amazon's tools.

    Hadoop looks for keys there by itself, but neither for the region nor for another endpoint.

    >>> s3a_settings({"AWS_REGION": "eu-central-1"})
    {'spark.hadoop.fs.s3a.endpoint.region': 'eu-central-1'}
    """
    settings: dict[str, str] = {}
    region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
    endpoint = environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL")
    if region:
        settings["spark.hadoop.fs.s3a.endpoint.region"] = region
    if endpoint:
        settings["spark.hadoop.fs.s3a.endpoint"] = endpoint
        # Few servers but Amazon's have a host name for each bucket.
        settings["spark.hadoop.fs.s3a.path.style.access"] = "true"
    return settings
