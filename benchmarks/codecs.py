"""How many values a second the codecs of a registry decode, beside Confluent's and plain fastavro.

get                      one value at a time
a batch                  10,000 values at a time
restore with quarantine  a restore that validates every value before it is stored
to Arrow                 the typed column of a snapshot
fold                     a task of a pipeline that keeps a sum per key, without Spark around it

python benchmarks/codecs.py --registry http://localhost:8081    (lastword up --registry runs one)

Confluent's deserializers need more packages than Lastword has:
pip install 'confluent-kafka[avro,json,protobuf]'. Without them their lines are left out.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import io
import json
import time
from collections.abc import Callable
from typing import Any

import fastavro
from arena import report
from arena.codec_uses import TOPIC, Foreign, Use, uses_of

from lastword.codecs.base import Context
from lastword.codecs.registry import Registry
from lastword.codecs.registry.proto_file import ProtoFile

ROUNDS = 5
NAMES = ("id", "name", "email", "age", "score", "active", "city", "country", "visits", "since")
AVRO = {
    "type": "record",
    "name": "Profile",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": "string"},
        {"name": "email", "type": "string"},
        {"name": "age", "type": "int"},
        {"name": "score", "type": "double"},
        {"name": "active", "type": "boolean"},
        {"name": "city", "type": ["null", "string"]},
        {"name": "country", "type": "string"},
        {"name": "visits", "type": "long"},
        {"name": "since", "type": "string"},
    ],
}
_JSON_TYPES = {"long": "integer", "int": "integer", "double": "number", "boolean": "boolean"}
JSON = {
    "type": "object",
    "title": "Profile",
    "properties": {
        each["name"]: {"type": _JSON_TYPES.get(str(each["type"]), "string")}
        for each in AVRO["fields"]
    },
    "required": list(NAMES),
}
PROTO = """
syntax = "proto3";
message Profile {
  int64 id = 1; string name = 2; string email = 3; int32 age = 4; double score = 5;
  bool active = 6; string city = 7; string country = 8; int64 visits = 9; string since = 10;
}
"""


def profile(number: int) -> dict[str, Any]:
    since = datetime.date(2020, 1, 1) + datetime.timedelta(days=number % 2000)
    return {
        "id": number,
        "name": f"User {number}",
        "email": f"user-{number}@example.com",
        "age": number % 90,
        "score": number / 7,
        "active": number % 2 == 0,
        "city": "Paris",
        "country": "FR",
        "visits": number * 3,
        "since": since.isoformat(),
    }


def main() -> None:
    arguments = _arguments()
    registry = Registry(arguments.registry, auto_register=True)
    values = [profile(number) for number in range(arguments.values)]
    rates: dict[str, dict[str, dict[str, float]]] = {}
    for kind, schema in (("avro", AVRO), ("json_schema", JSON), ("protobuf", PROTO)):
        context = Context(f"{TOPIC}-{kind}", "value")
        coder: Any = getattr(registry, kind)(schema).bound(context)
        data = [coder.encode(value) for value in values]
        column = coder.typed_column()
        uses: dict[str, dict[str, Use]] = {}
        for who, each in _contestants(kind, coder, arguments.registry, schema).items():
            if [each.decode(one) for one in data] != values:
                raise SystemExit(f"{who} does not give the {kind} values back")
            uses[who] = uses_of(each, data, column)
        rates[kind] = _rates(uses, len(data))
    _print(rates)
    report.save("codecs", {"values": arguments.values, "values_per_s": rates})


def _contestants(kind: str, coder: Any, url: str, schema: Any) -> dict[str, Any]:
    found = {"Lastword": coder}
    if kind == "avro":
        found["fastavro alone"] = Foreign(_plain_fastavro())
    confluent = _confluent(kind, url, schema)
    if confluent is not None:
        found["Confluent"] = Foreign(confluent)
    return found


def _rates(uses: dict[str, dict[str, Use]], values: int) -> dict[str, dict[str, float]]:
    """Values a second of CPU by contestant and use: the best of five rounds, in turns."""
    best = {who: dict.fromkeys(own, float("inf")) for who, own in uses.items()}
    for _ in range(ROUNDS):
        for who, own in uses.items():
            for name, use in own.items():
                started = time.process_time()
                use()
                best[who][name] = min(best[who][name], time.process_time() - started)
    return {
        who: {name: values / seconds for name, seconds in own.items()} for who, own in best.items()
    }


def _plain_fastavro() -> Callable[[bytes], Any]:
    parsed = fastavro.parse_schema(AVRO)
    return lambda data: fastavro.schemaless_reader(io.BytesIO(data[5:]), parsed, None)


def _confluent(kind: str, url: str, schema: Any) -> Callable[[bytes], Any] | None:
    if importlib.util.find_spec("authlib") is None:
        return None
    from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: PLC0415
    from confluent_kafka.serialization import MessageField, SerializationContext  # noqa: PLC0415

    client = SchemaRegistryClient({"url": url})
    context = SerializationContext(f"{TOPIC}-{kind}", MessageField.VALUE)
    if kind == "protobuf":
        return _confluent_protobuf(context)
    if kind == "avro":
        from confluent_kafka.schema_registry.avro import AvroDeserializer  # noqa: PLC0415

        read: Any = AvroDeserializer(client)
    else:
        from confluent_kafka.schema_registry.json_schema import JSONDeserializer  # noqa: PLC0415

        read = JSONDeserializer(json.dumps(schema), schema_registry_client=client)
    return lambda data: read(data, context)


def _confluent_protobuf(context: Any) -> Callable[[bytes], Any]:
    """Decodes to a message, whose fields become a dict; its class is made of the schema's text.

    It gets no client and asks for no schema, which makes it faster: Apicurio answers its request
    for the compiled schema with damaged text.
    """
    from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer  # noqa: PLC0415

    message_class = ProtoFile(PROTO, {}).named("Profile").type
    read: Any = ProtobufDeserializer(message_class)

    def decode(data: bytes) -> dict[str, Any]:
        message = read(data, context)
        return {name: getattr(message, name) for name in NAMES}

    return decode


def _print(rates: dict[str, dict[str, dict[str, float]]]) -> None:
    who = ("Lastword", "fastavro alone", "Confluent")
    rows = []
    for kind, found in rates.items():
        for use, own in found["Lastword"].items():
            theirs = found.get("Confluent")
            shown = [f"{found[each][use] / 1000:.0f}" if each in found else "-" for each in who]
            rows.append([kind, use, *shown, f"{own / theirs[use]:.1f}" if theirs else "-"])
    report.print_table(
        "Thousands of values per second of CPU, ten fields each",
        ["", "", *who, "times Confluent"],
        rows,
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--registry", required=True, help="the URL of a schema registry")
    parser.add_argument("--values", type=int, default=20_000)
    return parser.parse_args()


if __name__ == "__main__":
    main()
