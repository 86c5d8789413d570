"""The JSON Schema of the messages, for other languages: `python -m protocol.schema > docs/messages.schema.json`."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from protocol.messages import PROTOCOL_VERSION, FromClient, FromServer, Info

SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""The version of JSON Schema, in the field `$schema`."""
_REF_TEMPLATE = "#/$defs/{name}"
"""The form of a reference to a definition in the schema."""


def message_schema() -> dict[str, Any]:
    """Return the JSON Schema of a frame. `$defs` has `ClientMessage`, `ServerMessage`, and all messages and their
    parts.
    """
    clients, servers = FromClient.__subclasses__(), FromServer.__subclasses__()
    _, found = msgspec.json.schema_components([*clients, *servers, Info], ref_template=_REF_TEMPLATE)
    parts: dict[str, Any] = dict(found)
    for part in parts.values():
        if "description" in part:
            part["description"] = inspect.cleandoc(part["description"])  # Python 3.13 does it by itself
    # The server accepts any value, so that a wrong one costs a strike or is ignored; the schema has the right form.
    parts["Move"]["properties"] |= {"move": {"type": "object"}, "info": _ref("Info")}
    return {
        "$schema": SCHEMA_DIALECT,
        "title": f"Bot Arena wire protocol, version {PROTOCOL_VERSION}",
        "description": "One frame from a client or the server. docs/protocol.md explains each message.",
        "anyOf": [_ref("ClientMessage"), _ref("ServerMessage")],
        "$defs": {
            "ClientMessage": _union("ClientMessage", "A message from a client.", clients),
            "ServerMessage": _union(
                "ServerMessage", "A message from the server. Later versions may add fields.", servers
            ),
            **parts,
        },
    }


def _union(title: str, description: str, messages: list[type[Any]]) -> dict[str, Any]:
    return {"title": title, "description": description, "oneOf": [_ref(message.__name__) for message in messages]}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _REF_TEMPLATE.format(name=name)}


def schema_text() -> str:
    """Return the schema as text, as in docs/messages.schema.json."""
    return msgspec.json.format(msgspec.json.encode(message_schema()), indent=2).decode() + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")  # noqa: T201
