"""What a server counts and measures, looked up as Prometheus' own client does it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from prometheus_client import CollectorRegistry
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from arena.commands import metrics
from arena.commands.node_table import node_table
from arena.commands.serve_nodes import node_arguments
from arena.commands.settings import ServerSettings
from arena.host.meters import SAMPLE_ONE_IN, Meters
from arena.operations.metrics import COUNTER, METRICS, MetricSources
from arena.operations.prometheus import LAG_INTERVAL_S, ArenaCollector, measure_lag
from arena.server.nodes import SingleNode
from arena.store.nodes import NodeStatus
from arena.store.result_queries import result_of
from commands import call
from machine.event_loop import background_task
from machine.histogram import Histogram
from timeouts import WITHIN

REPOSITORY = Path(__file__).parents[2]


class FiveNodes(SingleNode):
    """One of each state, of which two have stopped."""

    url = "ws://arena/a"

    def all_nodes(self) -> list[NodeStatus]:
        seen = "2026-11-26T17:05:12.000Z"
        states = (
            (True, False, seen),
            (True, True, seen),
            (False, False, None),
            (False, True, None),
            (False, True, seen),
        )
        return [
            NodeStatus(name=name, url=f"ws://arena/{name}", seen=at, alive=alive, draining=draining, matches=0)
            for name, (alive, draining, at) in zip("abcde", states, strict=True)
        ]


def collector(served: Any) -> ArenaCollector:
    return ArenaCollector(
        MetricSources(served.arena, served.options["meters"], None, {"data": served.data}, "sqlite", "")
    )


def reading(served: Any) -> Callable[..., float | None]:
    """What reads one of them, by its name without `arena_` and its labels."""
    registry = CollectorRegistry()
    registry.register(collector(served))
    return lambda name, **labels: registry.get_sample_value(f"arena_{name}", labels)


async def test_nodes_are_counted_by_the_states_that_the_list_of_nodes_has(serve: Any) -> None:
    served = await serve(meters=Meters(), nodes=FiveNodes())
    read = reading(served)
    states = ("alive", "draining", "stopped", "gone")
    assert [read("nodes", state=state) for state in states] == [1, 1, 2, 1]
    rows = [line.split() for line in node_table(FiveNodes().all_nodes(), 100)[1:]]
    assert [row[1] for row in rows] == ["alive", "draining", "stopped", "stopped", "gone"]


async def test_what_is_played_is_counted_by_game_and_reason_and_no_label_names_who_played(serve: Any) -> None:
    served = await serve(meters=Meters())
    read = reading(served)
    assert (read("matches_begun_total", game="nim"), read("plies_total", game="nim")) == (0, 0)
    first, second, start = await served.begun()
    assert (read("matches_begun_total", game="nim"), read("matches_under_way", game="nim")) == (1, 1)
    assert (read("clients", role="bot"), read("seek_wait_seconds_count")) == (2, 2)
    await asyncio.gather(first.play(), second.play())
    result = served.store.read(result_of, start["match"])
    assert read("matches_ended_total", game="nim", reason=result.reason) == 1
    assert read("plies_total", game="nim") == result.plies > 0
    assert (read("matches_under_way", game="nim"), read("store_commit_seconds_count")) == (0, 1)
    assert read("received_bytes_total") > 100
    assert read("sent_bytes_total") > 100
    samples = [sample for family in collector(served).collect() for sample in family.samples]
    values = {value for sample in samples for value in sample.labels.values()}
    assert not values & {"ann", "bob", start["match"], "127.0.0.1"}
    assert len(values) < 100


async def test_plies_are_counted_as_they_are_played_and_not_again_after_a_restart(serve: Any) -> None:
    served = await serve(meters=Meters())
    first, second, start = await served.begun(config={"heaps": [2], "take": [1]})
    await first.expect("turn")
    await first.send(type="move", match=start["match"], ply=0, move={"heap": 0, "take": 1})
    await second.expect("turn")
    assert reading(served)("plies_total", game="nim") == 1
    await served.restart()
    assert reading(served)("plies_total", game="nim") == 0
    await asyncio.gather(*[(await served.enter(bot)).play() for bot in ("ann", "bob")])
    assert served.store.read(result_of, start["match"]).plies == 2
    assert reading(served)("plies_total", game="nim") == 1


async def test_one_of_so_many_moves_is_measured_until_it_is_told(serve: Any) -> None:
    served = await serve(meters=Meters())
    first, second, _ = await served.begun(config={"heaps": [3 * SAMPLE_ONE_IN], "take": [1]})
    await asyncio.gather(first.play(), second.play())
    read = reading(served)
    measured = read("referee_seconds_count", game="nim")
    assert measured in (2, 3)
    assert read("journal_write_seconds_count") == read("move_seconds_count") == measured
    assert 0 < read("referee_seconds_sum", game="nim") < read("move_seconds_sum") < WITHIN


async def test_of_a_move_that_comes_too_late_no_time_is_measured_until_the_next_is_told(serve: Any) -> None:
    meters = Meters()
    served = await serve(meters=meters)
    first, second, start = await served.begun()
    turn = await first.expect("turn")
    meters.until_next_sample = 1
    await second.send(type="move", match=start["match"], ply=7, move=turn["legal"][0])
    await second.expect("rejected")
    assert reading(served)("referee_seconds_count", game="nim") == 1
    await first.send(type="move", match=start["match"], ply=0, move=turn["legal"][0])
    await second.expect("turn")
    assert reading(served)("move_seconds_count") == 0


async def test_a_server_that_is_not_asked_to_measures_no_move(serve: Any) -> None:
    served = await serve()
    await served.begun()
    (runner,) = served.arena.host.clients.runners.values()
    assert type(runner).__name__ == "MatchRunner"


async def test_who_is_not_let_in_is_counted_by_error_code_or_status(serve: Any) -> None:
    served = await serve(meters=Meters())
    await served.enter("ann")
    client = await served.connect()
    await client.send(type="hello", bot="ann", token="*" * 20)
    await client.closed()
    with pytest.raises(InvalidStatus):
        await connect(f"ws://127.0.0.1:{served.port}", origin="http://evil.example")
    read = reading(served)
    assert read("logins_rejected_total", code="auth_failed") == 1
    assert read("connections_refused_total", status="403") == 1


async def test_what_can_not_be_kept_is_told_as_it_is_told_to_who_asks_whether_it_is_ready(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = await serve(meters=Meters())
    read = reading(served)
    assert (read("ready"), read("paused", by="journal"), read("database_up")) == (1, 0, 1)
    first, second, start = await served.begun()
    turn = await first.expect("turn")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", Mock(side_effect=OSError(28, "No space left on device")))
        await first.send(type="move", match=start["match"], ply=0, move=turn["legal"][0])
        await second.expect("error")
        assert (read("ready"), read("paused", by="journal"), read("database_up")) == (0, 1, 1)
    await second.expect("turn")
    assert (read("ready"), read("paused", by="journal")) == (1, 0)


class Watched(Histogram):
    """Observations that can be waited for."""

    def __init__(self) -> None:
        super().__init__((0.1,))
        self.observed = asyncio.Event()

    def observe(self, value: float) -> None:
        super().observe(value)
        self.observed.set()


async def test_a_loop_that_was_held_up_is_seen_to_be_late() -> None:
    lag = Watched()
    async with background_task(measure_lag(lag)), asyncio.timeout(WITHIN):
        await lag.observed.wait()
        lag.observed.clear()
        before = lag.counts[1]
        time.sleep(LAG_INTERVAL_S + 0.15)  # noqa: ASYNC251 - it is what holds the loop up
        await lag.observed.wait()
    assert lag.counts[1] == before + 1


def test_a_server_without_metrics_does_not_load_their_client() -> None:
    look = "import sys, arena.commands.serve; print({'prometheus_client', 'uvicorn'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert done.stdout == "set()\n"


def test_metrics_without_their_client_are_refused_in_a_line_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "find_spec", lambda name: None)
    done = call("arena", "serve", "--data", str(tmp_path), "--port", "0", "--no-web", "--metrics-port", "0")
    assert (done.code, done.out) == (2, "")
    assert done.err.strip() == (
        "arena: metrics are told by prometheus_client, which is not installed: pip install 'bot-arena[metrics]'"
    )
    assert list(tmp_path.iterdir()) == []


def test_each_of_several_nodes_on_a_machine_has_a_port_of_its_own_for_metrics() -> None:
    settings = ServerSettings(nodes=3, metrics_port=9464, operator_token_file="token")
    words = node_arguments(settings, port=8765, page=8080, token="token").values()
    assert [next(word for word in those if "metrics" in word) for those in words] == [
        f"--metrics-port={port}" for port in (9464, 9465, 9466)
    ]


def test_every_metric_is_in_the_documents_as_it_is_told() -> None:
    rows = []
    for kind, name, text, _, labels in METRICS:
        whole = f"arena_{name}_total" if kind == COUNTER else f"arena_{name}"
        rows.append(f"| `{whole}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {text} |")
    document = (REPOSITORY / "docs" / "operating.md").read_text()
    assert [line for line in document.splitlines() if line.startswith("| `arena_")] == rows
