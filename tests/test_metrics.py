"""The dashboard, the scrape config and the alerts of `deploy/`, by the real programs: a Prometheus reads a server on
which bots play, and answers what the dashboard asks.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgpack
import pytest
import pytest_asyncio
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
from prometheus_client.parser import text_string_to_metric_families
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from commands import call
from conftest import free_port
from postgres import new_database
from processes import Served, play, serving
from programs import program
from timeouts import WITHIN

DEPLOY = Path(__file__).parents[1] / "deploy"
PROMETHEUS, DASHBOARD = DEPLOY / "prometheus", DEPLOY / "grafana" / "arena.json"
VARIABLES = {"$__rate_interval": "1m", '"$job"': '"arena"', '"$instance"': '".*"'}
LOOK_EVERY = 0.2
"""Seconds between two questions, and between two scrapes."""
OF_THE_MODULE = pytest.mark.asyncio(loop_scope="module")
RULES_ALONE = {"up", "ALERTS"}
"""Metrics of Prometheus itself."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    feed = "mqtt://127.0.0.1:1/arena"  # where there is no broker
    options = ["--metrics-port", "0", "--db", new_database(), "--mqtt", feed]
    async with serving(tmp_path_factory.mktemp("arena"), *options) as served:
        yield served


def expressions() -> list[str]:
    """What the dashboard asks, with its variables as they are for one arena."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    found = [target["expr"] for panel in panels for target in panel.get("targets", [])]
    for name, value in VARIABLES.items():
        found = [expression.replace(name, value) for expression in found]
    return found


def asked(text: str) -> set[str]:
    return set(re.findall(r"\b(?:arena|process)_[a-z_]+\b", text)) | RULES_ALONE


async def fetched(address: str) -> str:
    def fetch() -> str:
        with urllib.request.urlopen(address, timeout=WITHIN) as answer:
            text: str = answer.read().decode()
            return text

    return await asyncio.to_thread(fetch)


async def metrics_at(served: Served) -> str:
    return (await served.says("the metrics are at ")).split()[-1]


@contextlib.contextmanager
def reading(target: str, folder: Path) -> Iterator[str]:
    """A Prometheus with the config and the rules of `deploy/` that reads a server often, inside: its address."""
    text = (PROMETHEUS / "prometheus.yml").read_text().replace("_interval: 15s", f"_interval: {LOOK_EVERY * 1000:g}ms")
    (folder / "prometheus.yml").write_text(text)
    (folder / "targets.yml").write_text(json.dumps([{"targets": [target]}]))
    shutil.copy(PROMETHEUS / "alerts.yml", folder)
    address = f"127.0.0.1:{free_port()}"
    words = [f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
    command = [program("prometheus"), *words, f"--web.listen-address={address}", "--log.level=error"]
    with subprocess.Popen(command) as process:
        try:
            yield f"http://{address}"
        finally:
            process.terminate()


async def answer(prometheus: str, expression: str) -> list[Any]:
    """What it answers now: a value for each series; none while it begins."""
    try:
        text = await fetched(f"{prometheus}/api/v1/query?query={urllib.parse.quote(expression)}")
    except OSError:
        return []
    result: list[Any] = json.loads(text)["data"]["result"]
    return result


@asynccontextmanager
async def passed_on(target: str) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """Pass on what is at `target`: an address to read it at, and an event that is set whenever somebody does."""
    host, _, port = target.partition(":")
    read = asyncio.Event()

    async def hand_on(source: asyncio.StreamReader, to: asyncio.StreamWriter, asks: bool) -> None:
        while data := await source.read(65536):
            if asks:
                read.set()
            to.write(data)
            await to.drain()
        to.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, questions = await asyncio.open_connection(host, int(port))
        with contextlib.suppress(ConnectionError):
            await asyncio.gather(hand_on(reader, questions, True), hand_on(answers, writer, False))

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", read


async def answered(prometheus: str, expressions: Sequence[str], read: asyncio.Event) -> None:
    """Ask until each of these has an answer, again whenever Prometheus has read."""
    left = [*expressions]
    try:
        async with asyncio.timeout(WITHIN):
            while left := [one for one in left if not await answer(prometheus, one)]:
                read.clear()
                await read.wait()
    except TimeoutError:
        pytest.fail("no data for\n" + "\n".join(left))


async def turned_away(served: Served) -> None:
    """Somebody brings a wrong token, and a page comes that may not."""
    async with connect(served.url) as wire:
        await wire.send(msgpack.packb({"type": "hello", "bot": "random", "token": "*" * 16}))
        await wire.wait_closed()
    with pytest.raises(InvalidStatus):
        await connect(served.url, origin="http://evil.example")


@OF_THE_MODULE
async def test_a_real_prometheus_has_an_answer_to_whatever_the_dashboard_asks(served: Served, tmp_path: Path) -> None:
    target = urllib.parse.urlsplit(await metrics_at(served)).netloc
    async with passed_on(target) as (address, read):
        with reading(address, tmp_path) as prometheus:
            await assert_all_is_answered(served, prometheus, read)


async def assert_all_is_answered(served: Served, prometheus: str, read: asyncio.Event) -> None:
    await answered(prometheus, ['arena_plies_total{job="arena"}'], read)
    await asyncio.gather(play(served, "random", 3), play(served, "perfect", 3))
    await turned_away(served)
    await answered(prometheus, expressions(), read)
    pending = 'ALERTS{alertname="ArenaFeedOffline", alertstate="pending"}'
    await answered(prometheus, (pending, 'sum(arena_matches_ended_total{game="nim"}) == 3'), read)


@OF_THE_MODULE
async def test_dashboard_and_alerts_name_no_metric_that_a_server_does_not_have(served: Served) -> None:
    text = await fetched(await metrics_at(served))
    families = list(text_string_to_metric_families(text))
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    histograms = {family.name for family in families if family.type == "histogram"}
    known = names | {f"{name}_bucket" for name in histograms} | RULES_ALONE
    assert asked("\n".join(expressions())) <= known
    rules = (PROMETHEUS / "alerts.yml").read_text()
    assert asked("\n".join(re.findall(r"expr: (?:>-\n)?((?:.+\n)+?) +(?:for|labels):", rules))) <= known
    assert len(asked(rules)) > 15


def test_grafanas_own_types_read_the_dashboard_whole() -> None:
    register_default_plugins()
    written = json.loads(DASHBOARD.read_text())
    read = json.loads(JSONEncoder().encode(Dashboard.from_json(written)))
    assert lost(written, read) == []


def lost(written: Any, read: Any, at: str = "") -> list[str]:
    """Where something of a document was not read; null is nothing."""
    if isinstance(written, dict):
        return [name for key in written for name in lost(written[key], (read or {}).get(key), f"{at}.{key}")]
    if isinstance(written, list) and isinstance(read, list) and len(written) == len(read):
        pairs = enumerate(zip(written, read, strict=True))
        return [name for number, (one, other) in pairs for name in lost(one, other, f"{at}[{number}]")]
    return [] if written == read else [at]


@OF_THE_MODULE
async def test_metrics_are_answered_at_their_path_alone(served: Served) -> None:
    address = await metrics_at(served)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        await fetched(address.replace("/metrics", "/"))
    request = urllib.request.Request(address, headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="421"):
        await asyncio.to_thread(urllib.request.urlopen, request, timeout=WITHIN)


def test_a_port_of_metrics_that_is_in_use_is_refused_in_a_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = call(
            "arena", "serve", "--data", str(tmp_path / "data"), "--port", "0", "--no-web", "--metrics-port", port
        )
    assert done.code == 1
    assert done.err == (
        f"arena: port {port} on 127.0.0.1 is in use: choose another one with --metrics-port, or 0 for a free one\n"
    )
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["check", "config", "prometheus.yml"], marks=pytest.mark.ci),
        ["check", "rules", "alerts.yml"],
        pytest.param(["test", "rules", "alerts_test.yml"], marks=pytest.mark.ci),
    ],
    ids=" ".join,
)
def test_promtool_finds_nothing_wrong(words: list[str]) -> None:
    done = subprocess.run(
        [program("promtool", "prometheus"), *words], cwd=PROMETHEUS, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_fired_by_a_test_and_says_what_it_means_and_what_to_do() -> None:
    rules = (PROMETHEUS / "alerts.yml").read_text()
    tests = (PROMETHEUS / "alerts_test.yml").read_text()
    alerts = re.findall(r"- alert: (\w+)", rules)
    assert [name for name in alerts if name not in tests] == []
    assert len(alerts) == rules.count("summary: ") == rules.count("description: ") == rules.count("severity: ")
