"""deploy/compose: what its files name is there, and the proxy and the broker do what they are set up for."""

from __future__ import annotations

import asyncio
import getpass
import re
import shutil
import ssl
import subprocess
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing
from datetime import datetime
from pathlib import Path
from typing import Any

import aiomqtt
import pytest
import yaml
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from arena.commands.settings import SETTINGS
from arena.server.nodes import rendezvous_weight
from arena.store.database_url import open_database_url
from arena.store.result_queries import iter_results
from arena.store.store import Reader
from certificates import make
from commands import REPOSITORY, call
from compose_stack import COMPOSE, compose_stack
from conftest import Mosquitto, free_port
from in_process import hosting, play
from nginx import replaced
from postgres import new_database
from processes import RunningArena
from protocol.codec import MSGPACK
from referee.result import Result
from timeouts import WITHIN
from web_client import answer

COMING = 24
"""Connections that come at once, more than those that stand."""
SHORT = {"leduc": ("--config", "hands=5")}
"""What makes matches of a game short."""
COMPOSITION = yaml.safe_load((COMPOSE / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSITION["services"]


def test_the_composition_is_as_its_specification_has_it() -> None:
    words = ["check-jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE / "compose.yaml")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_setting_of_a_node_is_one_that_the_server_has() -> None:
    for name in ("node-a", "node-b"):
        ours = [key.removeprefix("ARENA_").lower() for key in SERVICES[name]["environment"] if key.startswith("ARENA_")]
        assert set(ours) <= set(SETTINGS)


def test_every_service_may_do_as_little_as_it_needs_and_says_how_it_is() -> None:
    for name, service in SERVICES.items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert "healthcheck" in service or service["image"] == "bot-arena", name


def test_files_secrets_volumes_and_networks_that_are_named_are_there(tmp_path: Path) -> None:
    shutil.copy(COMPOSE / "prepare", tmp_path)
    subprocess.run([tmp_path / "prepare", "arena.example.org"], check=True, capture_output=True)
    secrets = {name: tmp_path / secret["file"] for name, secret in COMPOSITION["secrets"].items()}
    assert all(file.read_text() for file in secrets.values())
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0
    assert (tmp_path / ".env").read_text() == "ARENA_DOMAIN=arena.example.org\n"
    for name, service in SERVICES.items():
        assert set(service.get("secrets", ())) <= set(secrets), name
        assert set(service["networks"]) <= set(COMPOSITION["networks"]), name
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in COMPOSITION["volumes"] or (COMPOSE / source).exists(), volume


def test_secrets_that_are_there_are_left_alone(tmp_path: Path) -> None:
    shutil.copy(COMPOSE / "prepare", tmp_path)
    for _ in range(2):
        made = subprocess.run([tmp_path / "prepare"], check=True, capture_output=True, text=True).stdout
    assert made == ""


def test_what_the_url_of_the_database_does_not_say_comes_from_a_service_file(tmp_path: Path) -> None:
    url, _, folder = new_database().partition("?host=")
    services = tmp_path / "pg_service.conf"
    services.write_text(f"[arena]\nhost={folder}\n")
    told = call("arena", "node", "list", "--db", f"{url}?service=arena", PGSERVICEFILE=str(services))
    assert told.code == 0
    assert told.out.startswith("no node has ever run")
    assert SERVICES["node-a"]["environment"]["ARENA_DB"].endswith("?service=arena")


def test_addresses_and_ports_agree_between_the_composition_and_the_proxy() -> None:
    proxy = (COMPOSE / "nginx.conf").read_text()
    dockerfile = (REPOSITORY / "Dockerfile").read_text()
    front = {name: SERVICES[name]["networks"]["front"]["ipv4_address"] for name in ("node-a", "node-b", "proxy")}
    assert SERVICES["proxy"]["extra_hosts"] == [f"{name}:{front[name]}" for name in ("node-a", "node-b")]
    exposed = re.search(r"^EXPOSE (.*)$", dockerfile, re.MULTILINE)
    assert exposed is not None
    assert set(re.findall(r"node-[ab]:(\d+)", proxy)) == set(exposed[1].split()) - {"9464"}
    for name in ("node-a", "node-b"):
        environment = SERVICES[name]["environment"]
        assert environment["ARENA_TRUSTED_PROXY"] == front["proxy"]
        path = environment["ARENA_PUBLIC_URL"].rpartition("/")[2]
        assert environment["ARENA_NODE"] == path
        assert f"location = /{path} {{\n            proxy_pass http://{name}:8765;" in proxy


async def test_the_broker_takes_what_nodes_publish_and_who_listens_from_outside_publishes_nothing(
    tmp_path: Path,
) -> None:
    pair, outside = make(tmp_path, "localhost"), free_port()
    config = replaced(
        (COMPOSE / "mosquitto.conf").read_text(),
        {
            r"listener 1883": "listener PORT 127.0.0.1",
            r"listener 8883": f"listener {outside} 127.0.0.1",
            r"/mosquitto/data/": f"{tmp_path}/",
            r"/mosquitto/config/": f"{COMPOSE}/",
            r"/run/secrets/fullchain.pem": str(pair.certificate),
            r"/run/secrets/privkey.pem": str(pair.key),
        },
    )
    broker = Mosquitto(tmp_path, f"user {getpass.getuser()}\n{config}")
    broker.start()
    try:
        trust = ssl.create_default_context(cafile=pair.certificate)
        async with (
            aiomqtt.Client("localhost", outside, tls_context=trust) as reader,
            hosting(tmp_path / "node", "--mqtt", broker.url("arena")) as arena,
        ):
            await reader.subscribe("arena/match/+/end", qos=1)
            await reader.publish("arena/match/made-up/end", "{}", qos=1)
            await asyncio.gather(play(arena, "random", 1), play(arena, "greedy", 1))
            message = await anext(aiter(reader.messages))
            assert message.topic.value != "arena/match/made-up/end"
            assert b"greedy" in message.payload
    finally:
        broker.kill()


async def test_bots_play_through_the_proxy_whichever_node_they_come_to_and_pages_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with compose_stack(tmp_path) as stack, stack.node("a") as a, stack.node("b") as b:
        for node in (a, b):
            await node.says("accepts matches")
        for name, value in stack.trusting.items():
            monkeypatch.setenv(name, value)
        comings = [("ann", "nim", "a"), ("bob", "nim", "b"), ("cid", "leduc", "a"), ("dan", "leduc", "socket")]
        async with asyncio.TaskGroup() as playing:
            for name, game, path in comings:
                proxy = RunningArena(stack.url(path), tmp_path, [], asyncio.Event())
                options = ("--name", name, "--game", game, *SHORT.get(game, ()))
                playing.create_task(play(proxy, "random", 2, *options))
        page = await asyncio.to_thread(answer, stack.url("", "https"), trust=stack.certificate)
        assert page.status == 200
        assert all(name in page.text for name, _, _ in comings)


@pytest.mark.nightly
async def test_a_rolling_restart_under_play_voids_no_match_ends_no_bot_and_keeps_none_long(
    tmp_path: Path,
) -> None:
    async with compose_stack(tmp_path) as stack, AsyncExitStack() as up:
        places = {"a": "nim", "b": "leduc"}  # by the name of a node, which game it pairs
        assert all(max(places, key=lambda name: rendezvous_weight(name, game)) == home for home, game in places.items())
        containers = {name: await up.enter_async_context(AsyncExitStack()) for name in places}
        nodes = {name: await containers[name].enter_async_context(stack.node(name)) for name in places}
        for node in nodes.values():
            await node.says("accepts matches")
        bots = [stack.bot(f"{game}-{of}", game, *SHORT.get(game, ())) for game in places.values() for of in "12"]
        for name, game in places.items():
            (other,) = set(nodes) - {name}
            await nodes[name].says(f"ended: {game}")
            await stack.drained(name)
            await containers[name].aclose()
            await nodes[other].says(f"ended: {game}")
            nodes[name] = await containers[name].enter_async_context(stack.node(name))
            await nodes[name].says(f"ended: {game}")
        assert not any(bot.done() for bot in bots)
        trust = ssl.create_default_context(cafile=stack.certificate)
        async with asyncio.TaskGroup() as group:  # which fails with the first that is not let in
            for _ in range(COMING):
                group.create_task(comes_and_goes(stack.url("socket"), trust))
        for bot in bots:
            bot.cancel()
        await asyncio.wait(bots)
        await up.aclose()
        with closing(Reader.open(open_database_url(stack.db))) as reader:
            results = reader.read(lambda connection: list(iter_results(connection)))
        assert {seat.reason for result in results for seat in result.seats} <= {"win", "draw"}
        away = {seat.bot: longest_without_a_match(results, seat.bot) for result in results for seat in result.seats}
        assert max(away.values()) < WITHIN, away


async def comes_and_goes(url: str, trust: ssl.SSLContext) -> None:
    async with connect(url, ssl=trust, subprotocols=[Subprotocol(MSGPACK.subprotocol)]):
        pass


def longest_without_a_match(results: Sequence[Result], bot: str) -> float:
    """The most seconds between two matches of a bot."""
    played = [result for result in results if bot in [seat.bot for seat in result.seats]]
    begun = sorted(datetime.fromisoformat(result.started) for result in played)
    over = sorted(datetime.fromisoformat(result.finished) for result in played)
    return max((start - end).total_seconds() for end, start in zip(over, begun[1:], strict=False))
