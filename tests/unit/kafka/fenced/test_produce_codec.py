from __future__ import annotations

import pytest

from lastword.kafka.admin.wire import kafka_python_imported
from lastword.kafka.write.fenced.produce_codec import VERSION, ProduceCodec
from lastword.kafka.write.fenced.sending import LeaderAnswer

with kafka_python_imported():
    from kafka.protocol.producer import ProduceRequest, ProduceResponse

CLIENT = "lastword-client"
SIZE_BYTES = 4


def by_the_library(topic: str, partition: int, batch: bytes, timeout_ms: int, number: int) -> bytes:
    data = ProduceRequest.TopicProduceData
    rows = data.PartitionProduceData(index=partition, records=batch)
    request = ProduceRequest(
        version=VERSION,
        transactional_id=None,
        acks=-1,
        timeout_ms=timeout_ms,
        topic_data=[data(name=topic, partition_data=[rows])],
    )
    request.with_header(correlation_id=number, client_id=CLIENT)
    return bytes(request.encode(framed=True, header=True))


def answer_by_the_library(topic: str, partition: int, code: int, offset: int, number: int) -> bytes:
    answered = ProduceResponse.TopicProduceResponse
    response = ProduceResponse(
        version=VERSION,
        responses=[
            answered(
                name=topic,
                partition_responses=[
                    answered.PartitionProduceResponse(
                        index=partition,
                        error_code=code,
                        base_offset=offset,
                        log_append_time_ms=-1,
                        log_start_offset=0,
                        record_errors=[],
                        error_message="why" if code else None,
                    )
                ],
            )
        ],
        throttle_time_ms=0,
    )
    response.with_header(correlation_id=number)
    return bytes(response.encode(framed=True, header=True))[SIZE_BYTES:]


@pytest.mark.parametrize(
    ("topic", "partition"), [("users", 0), ("t", 2_000_000_000), ("x" * 249, 17)]
)
@pytest.mark.parametrize("size", [0, 126, 127, 128, 16_382, 16_383, 3_000_000])
def test_a_request_has_the_same_bytes_as_the_one_of_the_library(
    topic: str, partition: int, size: int
) -> None:
    batch = bytes(size)
    ours = ProduceCodec(CLIENT, topic, partition).request(77, batch, 30_000)
    assert ours == by_the_library(topic, partition, batch, 30_000, 77)


@pytest.mark.parametrize(("code", "offset"), [(0, 0), (0, 1 << 40), (47, -1)])
def test_an_answer_is_read_as_the_library_writes_it(code: int, offset: int) -> None:
    frame = answer_by_the_library("users", 3, code, offset, 77)
    assert ProduceCodec(CLIENT, "users", 3).answer(77, frame) == LeaderAnswer(code, offset)


@pytest.mark.parametrize(
    ("topic", "partition", "number"), [("users", 3, 78), ("users", 4, 77), ("user", 3, 77)]
)
def test_an_answer_to_something_else_is_not_taken(topic: str, partition: int, number: int) -> None:
    frame = answer_by_the_library(topic, partition, 0, 5, number)
    with pytest.raises(ValueError, match="not an answer"):
        ProduceCodec(CLIENT, "users", 3).answer(77, frame)


def test_an_answer_that_ends_too_early_is_not_taken() -> None:
    frame = answer_by_the_library("users", 3, 0, 5, 77)
    with pytest.raises(ValueError, match="not an answer"):
        ProduceCodec(CLIENT, "users", 3).answer(77, frame[:20])
