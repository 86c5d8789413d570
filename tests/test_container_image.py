"""The container image, as the Dockerfile makes it: a real engine builds it, runs it and stops it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import tomllib
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio

from commands import REPOSITORY
from conftest import free_port
from containers import IMAGE, Engine
from players import meet, player
from processes import run

USER = 10001
TO_STOP = 10
"""Seconds that Docker gives a container to end by itself."""
LOOK_AROUND = f"""
python -c 'import aiomqtt, prometheus_client, psycopg'
for name in pip gcc make apt-cache; do command -v $name || true; done
ls /var/lib/apt/lists
python -c 'import importlib.util as of; print(of.find_spec("pip"))'
find /opt /usr /etc -xdev \\( -user {USER} -o -perm /002 -not -type l \\)
"""
"""What is there, one a line, that builds or that its user may write: but for what Debian has, that pip is none."""
LOCKED_UP = ("--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges", "--ulimit", "host")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = Engine(tmp_path_factory.mktemp("podman"))
    try:
        engine.build()
        yield engine
    finally:
        engine.close()


class Running(NamedTuple):
    """A container in which a server runs: its name, and where the server listens."""

    name: str
    url: str


@asynccontextmanager
async def running(engine: Engine, volume: str, *options: str) -> AsyncIterator[Running]:
    """A container, as locked up as deploy/ has them; at its end it must stop by itself, and well."""
    name, port = f"arena-{free_port()}", free_port()
    environ = {"ARENA_HOST": "127.0.0.1", "ARENA_PORT": str(port), "ARENA_WEB": "false"}
    settings = [word for key, value in environ.items() for word in ("--env", f"{key}={value}")]
    where = ("--name", name, "--network", "host", "--volume", f"{volume}:/data", *LOCKED_UP, *settings)
    process = await asyncio.create_subprocess_exec(
        *engine.command("run", "--rm", *where, IMAGE, "serve", *options), env=engine.environ, stderr=PIPE
    )
    assert process.stderr is not None
    said = ""
    while "listening on" not in said:
        line = (await process.stderr.readline()).decode()
        assert line, said
        said += line
    ended = asyncio.create_task(process.communicate())
    yield Running(name, f"ws://127.0.0.1:{port}")
    await asyncio.to_thread(engine.done, "stop", "--time", str(TO_STOP), name)
    await ended
    assert process.returncode == 0  # one that is killed has 137


def server_in(engine: Engine, container: str) -> int:
    """The process of the server, as this machine sees it: the child of the container's first one."""
    first = engine.done("inspect", "--format", "{{.State.Pid}}", container)
    return int(Path(f"/proc/{first}/task/{first}/children").read_text().split()[0])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arena(engine: Engine) -> AsyncIterator[Running]:
    """A container in which bots of the house play, for tests that leave it as it is."""
    async with running(engine, "data", "--builtin-bots", "random,greedy") as arena:
        yield arena


@pytest.mark.nightly
@pytest.mark.asyncio(loop_scope="module")
async def test_bots_from_outside_play_in_a_container_that_may_write_nothing_but_its_volume(
    engine: Engine, arena: Running, tmp_path: Path
) -> None:
    words = ("arena-bot", "run", "random", "--url", arena.url, "--game", "nim", "--matches", "2")
    bots = [run(*words, "--name", name, folder=tmp_path) for name in ("ann", "bob")]
    assert [(code, err) for code, _, err in await asyncio.gather(*bots)] == [(0, "")] * 2
    matches = engine.done("exec", arena.name, "arena", "matches", "--csv", "--bot", "ann", "--limit", "5")
    assert matches.count("\n") == 2
    files = engine.done("exec", arena.name, "stat", "--format", "%u:%g %a", "/data", "/data/arena.db")
    assert files.splitlines() == [f"{USER}:{USER} 700", f"{USER}:{USER} 600"]


@pytest.mark.nightly
def test_the_health_check_holds_until_the_server_answers_no_more(engine: Engine, arena: Running) -> None:
    assert engine.podman("healthcheck", "run", arena.name).returncode == 0
    server = server_in(engine, arena.name)
    os.kill(server, signal.SIGSTOP)
    try:
        assert engine.podman("healthcheck", "run", arena.name).returncode != 0  # or 125 where its own time is up first
    finally:
        os.kill(server, signal.SIGCONT)
    assert engine.podman("healthcheck", "run", arena.name).returncode == 0


@pytest.mark.nightly
@pytest.mark.asyncio(loop_scope="module")
async def test_a_match_goes_on_in_the_next_container_on_the_same_volume(engine: Engine) -> None:
    async with AsyncExitStack() as clients, running(engine, "match") as arena:
        before = [await clients.enter_async_context(player(arena.url, name)) for name in ("ann", "bob")]
        match = (await meet(*before))["match"]
    async with running(engine, "match") as arena, player(arena.url, "ann") as ann, player(arena.url, "bob") as bob:
        assert [one.heard[0]["resumed"] for one in (ann, bob)] == [[match], [match]]
        ends = await asyncio.gather(ann.play(), bob.play())
        assert [end["reason"] for end in ends] == ["win", "win"]


@pytest.mark.nightly
def test_a_process_that_lost_its_parent_leaves_no_zombie_in_a_container_with_a_house(
    engine: Engine, arena: Running
) -> None:
    orphan = engine.done("exec", arena.name, "sh", "-c", "(sleep 0.01 & echo $!)")
    gone = f"until [ ! -e /proc/{orphan} ]; do sleep 0.05; done"  # a zombie is there for ever
    assert engine.done("exec", arena.name, "timeout", "20", "sh", "-c", f"{gone}; echo gone") == "gone"


@pytest.mark.nightly
def test_the_image_runs_as_an_ordinary_user_and_says_what_it_is(engine: Engine) -> None:
    config = engine.done("inspect", "--format", "{{.Config.User}} {{.Config.Volumes}} {{.Config.StopSignal}}", IMAGE)
    assert config == f"{USER}:{USER} map[/data:{{}}] SIGTERM"
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    label = '{{{{index .Config.Labels "org.opencontainers.image.{}"}}}}'
    told = [engine.done("inspect", "--format", label.format(name), IMAGE) for name in ("version", "revision")]
    assert told == [version, "tested"]
    assert engine.done("run", "--rm", *LOCKED_UP, "--network", "host", IMAGE, "--version") == f"bot-arena {version}"


@pytest.mark.nightly
def test_the_image_speaks_to_postgresql_mqtt_and_prometheus_and_has_nothing_that_builds(engine: Engine) -> None:
    told = engine.done(
        *("run", "--rm", "--user", "0", "--network", "host", "--ulimit", "host"),
        *("--entrypoint", "sh", IMAGE, "-ec", LOOK_AROUND),
    )
    assert told.splitlines() in (["None"], ["/usr/bin/apt-cache", "None"])


def test_the_base_image_is_pinned_by_its_digest() -> None:
    dockerfile = (REPOSITORY / "Dockerfile").read_text()
    assert re.search(r"^ARG BASE=\S+:\S+@sha256:[0-9a-f]{64}$", dockerfile, re.MULTILINE)
    assert set(re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)) == {"${BASE}"}
