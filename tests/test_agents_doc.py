"""docs/agents.md: its tools are those there are, its turn is what a model sees, its configuration starts a server."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

import zygote
from agent_duels import told, turn_of
from bots.agents.answers import Look, describe_match
from bots.agents.page import PageClient
from bots.agents.schema_text import DESCRIPTIONS
from bots.agents.server import make_schema, make_server
from bots.agents.session import AgentSession
from bots.agents.tools import AgentTools
from bots.client.settings import Settings
from commands import REPOSITORY
from protocol import games

TEXT = (REPOSITORY / "docs" / "agents.md").read_text()


def offered() -> AgentTools:
    settings = Settings()
    return AgentTools("model", AgentSession("model", settings, "t" * 16), PageClient(settings.url))


def table() -> str:
    rows = []
    for tool in offered().tools.values():
        about = make_schema(tool.arguments_class)
        takes = [name if name in about.get("required", ()) else f"{name}?" for name in about["properties"]]
        rows.append(f"| `{tool.name}` | {', '.join(f'`{name}`' for name in takes)} | {tool.description} |\n")
    return "".join(rows)


def first_turn() -> str:
    """What a model reads that begins a duel."""
    rules = games.load_game("risk-duel")
    state = {"owner": [-1] * 4, "troops": [0] * 4, "to_move": 0, "ply": 0}
    _, match = told(rules, "south-america", "random", turn_of(rules, state, match="261125-180511-50fcf08c"))
    return Look(
        state="your_turn",
        next="it is your turn, 60 s left: call move",
        match=describe_match(match, 0, whole_board=True),
    ).format_text()


def test_the_table_has_every_tool_as_it_is() -> None:
    assert table() in TEXT


def test_the_turn_is_what_a_model_sees() -> None:
    assert f"```text\n{first_turn()}\n```" in TEXT


def test_the_longest_wait_is_the_one_that_is_said() -> None:
    (longest,) = set(re.findall(r"up to (\d+) seconds", TEXT))
    waits = [make_schema(tool.arguments_class)["properties"].get("wait_s") for tool in offered().tools.values()]
    assert {wait["maximum"] for wait in waits if wait} == {int(longest)}


async def test_the_configuration_starts_a_server_that_lists_the_tools(tmp_path: Path) -> None:
    (config,) = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
    given: dict[str, Any] = json.loads(config)["mcpServers"]["bot-arena"]
    assert Path(given["command"]).name == "arena-bot"
    words = ["-m", "bots", *given["args"]]
    environ = zygote.environment(XDG_CONFIG_HOME=str(tmp_path))
    server = StdioServerParameters(command=sys.executable, args=words, env=environ, cwd=REPOSITORY)
    with (tmp_path / "log").open("w") as log, zygote.forking():
        async with Client(stdio_client(server, log)) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == list(offered().tools)


async def test_every_argument_of_a_tool_is_described_and_none_other_is_taken() -> None:
    async with Client(make_server(offered())) as client:
        assert "list_games has the rules" in (client.instructions or "")
        for tool in (await client.list_tools()).tools:
            assert tool.input_schema["additionalProperties"] is False
            assert all("description" in one for one in described(tool.input_schema)), tool.name
            assert tool.output_schema is not None
            assert all("description" in one for one in tool.output_schema["properties"].values()), tool.name


async def test_objects_in_schemas_are_described_in_plain_sentences_for_a_model() -> None:
    told = {kind.__name__: text for kind, text in DESCRIPTIONS.items()}
    async with Client(make_server(offered())) as client:
        schemas = [
            schema for tool in (await client.list_tools()).tools for schema in (tool.input_schema, tool.output_schema)
        ]
    found = {
        name: one.get("description") for schema in schemas for name, one in (schema or {}).get("$defs", {}).items()
    }
    assert found == told
    for name, text in told.items():
        assert not set("`_*") & set(re.sub(r"\b[a-z]+_[a-z_]+\b", "", text)), name
        assert "\n" not in text
        assert text.endswith(".")
        assert "None" not in text


def described(found: dict[str, Any]) -> list[dict[str, Any]]:
    """What is said of each argument, where it may be absent of what it is then."""
    return [one.get("anyOf", [one])[0] for one in found["properties"].values()]
