"""What every codec must do, as tests: subclass, say how to make one and what it takes.

    class TestMyCodec(CodecContract):
        def make_codec(self) -> Codec[Any]:
            return MyCodec()

        values = ("a", "b")
        foreign = (object(),)

A codec for keys takes ``KeyCodecContract``.
"""

# ruff: noqa: D102 - the names of the tests are sentences

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastword.codecs.base import Codec, Context, KeyCodec
from lastword.codecs.batches import check_batch, decode_batch, decode_singly, encode_batch
from lastword.codecs.resolve import codec, key_codec
from lastword.errors import ConfigError, DecodeError, EncodeError

_DESCRIPTION_BYTES_MAX = 4096
_COLUMN_TYPES = {"string": str, "int64": int}


class CodecContract(ABC):
    """The part of the contract that holds for all codecs."""

    values: ClassVar[Sequence[Any]]
    """Values that the codec takes, all different."""

    foreign: ClassVar[Sequence[Any]] = (object(),)
    """Values of the wrong kind."""

    topic: ClassVar[str] = "codec-contract"

    @abstractmethod
    def make_codec(self) -> Codec[Any]:
        """A codec as a user would give it to a table."""

    def bound_codec(self) -> Codec[Any]:
        """The same, bound as a table binds it."""
        return codec(self.make_codec()).bound(Context(self.topic, "value"))

    def test_a_value_comes_back_equal(self) -> None:
        subject = self.bound_codec()
        for value in self.values:
            assert subject.decode(subject.encode(value)) == value

    def test_different_values_have_different_bytes(self) -> None:
        subject = self.bound_codec()
        assert len({subject.encode(value) for value in self.values}) == len(self.values)

    def test_a_foreign_value_is_refused_with_an_encode_error(self) -> None:
        subject = self.bound_codec()
        for value in self.foreign:
            with pytest.raises(EncodeError):
                subject.encode(value)

    def test_any_bytes_are_decoded_or_refused_with_a_decode_error(self) -> None:
        subject = self.bound_codec()

        @given(st.binary(max_size=40))
        @settings(max_examples=200, deadline=None, database=None)
        def check(data: bytes) -> None:
            try:
                subject.decode(data)
            except DecodeError as error:
                assert error.reason

        check()

    def test_damaged_bytes_are_decoded_or_refused_with_a_decode_error(self) -> None:
        subject = self.bound_codec()
        for value in self.values:
            data = subject.encode(value)
            for damaged in (data[:-1], data[1:], data + b"\x00", b"\xff" + data, data[::-1]):
                try:
                    subject.decode(damaged)
                except DecodeError as error:
                    assert error.reason

    def test_a_text_leads_back_to_the_bytes_it_was_made_of(self) -> None:
        subject = self.bound_codec()
        for value in self.values:
            data = subject.encode(value)
            text = subject.text(data)
            assert text is None or subject.parse(text.encode()) == data

    def test_typed_text_is_taken_or_refused_with_an_encode_error(self) -> None:
        subject = self.bound_codec()

        @given(st.text(max_size=20))
        @settings(max_examples=200, deadline=None, database=None)
        def check(text: str) -> None:
            try:
                data = subject.parse(text.encode())
            except EncodeError as error:
                assert str(error)
            else:
                subject.decode(data)

        check()

    def test_json_is_one_document_that_leads_back_to_the_value(self) -> None:
        subject = self.bound_codec()
        for value in self.values:
            document = subject.to_json(subject.encode(value))
            msgspec.json.decode(document)
            assert subject.decode(subject.from_json(document)) == value

    def test_what_is_no_json_is_refused_with_an_encode_error(self) -> None:
        subject = self.bound_codec()
        for document in (b"", b"{", b"nope", b"\xff", b"[" * 100_000):
            with pytest.raises(EncodeError):
                subject.from_json(document)

    def test_a_column_has_one_value_of_its_type_per_record(self) -> None:
        subject = self.bound_codec()
        if (column := subject.column) is None:
            return
        data = [*map(subject.encode, self.values), None]
        found = [
            getattr(each, "item", lambda each=each: each)() for each in subject.column_values(data)
        ]
        assert len(found) == len(data)
        assert found[-1] is None
        assert all(isinstance(each, _COLUMN_TYPES[column.type]) for each in found[:-1])
        whole = subject.column_values(data[:-1])
        assert list(whole) == found[:-1]

    def test_unreadable_bytes_are_null_in_a_column(self) -> None:
        subject = self.bound_codec()
        if subject.column is not None:
            assert list(subject.column_values([b"\xff\xfe\xff"])) == [None]

    def test_a_batch_is_decoded_as_its_records_are_singly(self) -> None:
        subject = self.bound_codec()
        good = [subject.encode(value) for value in self.values]
        odd = [None, b"", b"\xff\xfe\xff", good[0] + good[-1], *(each[:-1] for each in good)]

        @given(st.lists(st.sampled_from(good + odd), max_size=12))
        @settings(max_examples=25, deadline=None, database=None)
        def check(data: list[bytes | None]) -> None:
            found, singly = decode_batch(subject, data), decode_singly(subject.decode, data)
            assert found.values == singly.values
            bad = (found.bad, singly.bad, check_batch(subject, data))
            reasons = [{i: str(error) for i, error in each.items()} for each in bad]
            assert reasons[0] == reasons[1] == reasons[2]

        check()

    def test_a_batch_is_encoded_as_its_values_are_singly(self) -> None:
        subject = self.bound_codec()
        singly = [subject.encode(value) for value in self.values]
        assert encode_batch(subject, self.values) == singly
        assert encode_batch(subject, ()) == []
        nonsense = [*self.values, object()]
        with pytest.raises(EncodeError) as at_once:
            encode_batch(subject, nonsense)
        with pytest.raises(EncodeError) as alone:
            subject.encode(nonsense[-1])
        assert str(at_once.value).partition(" at 0x")[0] == str(alone.value).partition(" at 0x")[0]

    def test_it_travels_as_a_small_description(self) -> None:
        subject = self.bound_codec()
        expected = [subject.encode(value) for value in self.values]
        for each in (self.make_codec(), subject):
            description = pickle.dumps(each)
            assert len(description) < _DESCRIPTION_BYTES_MAX
            arrived = pickle.loads(description).bound(Context(self.topic, "value"))  # noqa: S301
            assert [arrived.encode(value) for value in self.values] == expected
            assert arrived.name == subject.name


class KeyCodecContract(CodecContract):
    """The part of the contract for the codecs of keys."""

    def bound_codec(self) -> KeyCodec[Any]:
        """Bound as a table binds the codec of its keys."""
        return key_codec(self.make_codec()).bound(Context(self.topic, "key"))

    def test_equal_keys_have_equal_bytes(self) -> None:
        subject = self.bound_codec()
        for value in self.values:
            again = subject.decode(subject.encode(value))
            assert subject.encode(again) == subject.encode(value)

    def test_the_suffix_is_a_part_of_every_key(self) -> None:
        subject = self.bound_codec()
        assert all(len(subject.encode(value)) > subject.suffix_bytes for value in self.values)

    def test_the_beginning_of_a_text_is_the_beginning_of_its_key_or_is_refused(self) -> None:
        subject = self.bound_codec()
        for value in self.values:
            data = subject.encode(value)
            text = subject.text(data)
            if text is None:
                continue
            try:
                prefix = subject.text_prefix(text[:1].encode())
            except ConfigError as error:
                assert error.hint
            else:
                assert data.startswith(prefix)
