"""A session on this machine cannot be reached from another one, and asks for a secret.

The driver and its block manager listened on the machine's address without authentication; a
message from outside got as far as being deserialized by Java.
"""

from __future__ import annotations

import os
import socket
import struct

from pyspark.sql import SparkSession

from lastword.spark.network import is_open, network_settings
from tests.support.network.listening import beyond_loopback, descendants, listening


def test_spark_and_its_workers_listen_on_loopback_only(spark: SparkSession) -> None:
    assert spark.range(4).rdd.map(lambda row: row.id).sum() == 6, "Python workers are there, too"
    everybody = descendants(os.getpid())
    assert beyond_loopback(everybody) == []
    driver = int(spark.sparkContext.getConf().get("spark.driver.port", "0"))
    assert driver in {port for _, port in listening(everybody)}, "it was looked at"


def test_a_message_without_the_secret_is_not_looked_into(spark: SparkSession) -> None:
    driver = int(spark.sparkContext.getConf().get("spark.driver.port", "0"))
    # A request in the frame of Spark's protocol: its length, its type, its id, and the body.
    body = b"\xac\xed\x00\x05"
    frame = struct.pack(">qbqi", 8 + 1 + 8 + 4 + len(body), 3, 7, len(body)) + body
    with socket.create_connection(("127.0.0.1", driver), timeout=180) as connection:
        connection.sendall(frame)
        answer = connection.recv(4096)
    assert b"Expected SaslMessage" in answer
    assert b"NettyRpcHandler" not in answer, "which deserializes what it gets"


def test_a_secret_is_made_by_spark_and_is_nowhere_to_be_seen(spark: SparkSession) -> None:
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.authenticate") == "true"
    assert not conf.contains("spark.authenticate.secret")


def test_a_cluster_keeps_its_own_settings() -> None:
    for master in ("spark://host:7077", "yarn", "local-cluster[2,1,1024]"):
        assert network_settings(master) == {}
    assert network_settings("local[4,4]") == network_settings("local") != {}


def test_a_cluster_without_authentication_is_worth_a_warning() -> None:
    assert is_open("spark://host:7077", None)
    assert is_open("yarn", "false")
    assert not is_open("yarn", "true")
    assert not is_open("local[*]", None), "it cannot be reached"
