"""`arena status`: what goes on at a running server, in words and as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from arena.commands.status import fitting_lines, status_lines
from arena.operator.failure import Failure
from arena.operator.status import (
    BotStatus,
    HostingStatus,
    MatchStatus,
    RunnerStatus,
    SeekStatus,
    ServerStatus,
    StatusRequest,
)
from arena.store.bot_versions import FailedVersion
from arena.store.data_folder import lock
from commands import call
from in_process import call_beside, hosting

NOW = "2026-11-23T12:00:00Z"


def ask(seconds: float, **more: Any) -> SeekStatus:
    seek = {"game": "nim", "preset": "classic", "rated": True, "open": False, "opponents": []}
    return SeekStatus(**{**seek, **more}, seconds=seconds)


def here(bot: str, *seeks: SeekStatus, pace_s: int = 0) -> BotStatus:
    since = "2026-11-23T11:57:00Z"
    return BotStatus(
        bot=bot, version="1.0", address="10.0.0.7", since=since, playing=1, seeks=list(seeks), pace_s=pace_s
    )


def match(number: int) -> MatchStatus:
    return MatchStatus(
        match=f"261123-120000-{number:08x}",
        game="risk-duel",
        preset="classic",
        seats=["ann", "bob"],
        ply=12,
        started=NOW,
        rated=True,
        clock_ms=[58_234, 9_100],
        to_move=1,
    )


def present(**parts: Any) -> ServerStatus:
    nothing = {"held": None, "connected": 0, "bots": [], "under_way": 0, "matches": [], "failures": []}
    return ServerStatus(at=NOW, **{**nothing, **parts}, last_minute=3, last_hour=40)


def test_it_says_who_seeks_what_and_since_when_and_the_clocks_of_matches() -> None:
    bots = [here("ann", ask(12.3), ask(7.0), ask(200.0, rated=False, opponents=["bob"]), ask(1.0, open=True))]
    failed = [Failure(at="2026-11-23T11:59:30Z", who="bob", text="timeout in m-1")]
    lines = status_lines(present(connected=1, bots=bots, under_way=1, matches=[match(1)], failures=failed), 20, 200)
    assert lines[0] == "1 bot online, 1 match under way"
    assert lines[1] == "matches finished: 3 in the last minute, 40 in the last hour"
    text = "\n".join(lines)
    assert "2× nim rated (classic) 12 s; nim unrated against bob (classic) 3 min; nim openly 1 s" in text
    assert "ann 58.2, *bob 9.1" in text
    assert "30 s ago  bob  timeout in m-1" in text


def test_it_says_whose_seeks_the_pace_of_the_ladder_holds() -> None:
    lines = status_lines(present(connected=1, bots=[here("ann", ask(12.3), pace_s=6)]), 20, 200)
    assert "nim rated (classic) 12 s, delayed by the rate limit for 6 s" in "\n".join(lines)


def test_it_says_what_the_operator_should_look_after() -> None:
    assert status_lines(present(warnings=["the disk is \x1b[2Jfull"]), 20, 80)[2] == r"warning: the disk is \x1b[2Jfull"


def test_three_hundred_bots_and_two_hundred_matches_stay_readable_in_eighty_columns() -> None:
    bots = [here(f"a-name-of-a-bot-{number}", ask(61.0, rated=False, opponents=["bob"])) for number in range(20)]
    matches = [match(number) for number in range(20)]
    lines = status_lines(present(connected=300, bots=bots, under_way=200, matches=matches, held="\x1b[2J"), 20, 80)
    assert max(map(len, lines)) <= 80
    assert len(lines) < 120
    assert [line for line in lines if line.startswith("…")] == ["… and 280 more", "… and 180 more"]
    assert r"new matches are paused: \x1b[2J" in lines


@pytest.mark.parametrize("height", [8, 24, 60])
def test_a_drawing_has_as_many_rows_as_the_terminal_has_room_for(height: int) -> None:
    bots = [here(f"bot-{number}", ask(61.0), ask(2.0, rated=False, opponents=["bob"])) for number in range(20)]
    crowd = present(connected=300, bots=bots, under_way=200, matches=[match(number) for number in range(20)])
    lines = fitting_lines(crowd, 80, height)
    assert height * 3 // 4 < len(lines) < height


def test_it_says_what_the_runners_of_hosted_bots_do_and_which_checks_failed() -> None:
    since = "2026-11-23T11:57:00Z"
    runners = [
        RunnerStatus(runner=1, host="rack-3", since=since, slots=2, bots=["ann", "bob"], checks=["cid"], load=0.75),
        RunnerStatus(
            runner=4,
            host="",
            since=since,
            slots=8,
            bots=[],
            matches=["t1-00003"],
            match_slots=2,
            tournaments={"t1-00003": "t7"},
        ),
    ]
    report = "build: ok, cc mine.c\nnim: ok, won\ngrundy: failed after 3 plies: its \x1b[2J clock ran out\n  more"
    failed = [FailedVersion(bot="cid", number=12, submitted=since, report=report)]
    told = HostingStatus(runners=runners, hosted=3, waiting=1, failed=failed, stored_bytes=5 * 2**19)
    lines = status_lines(present(hosting=told), 20, 80)
    assert lines[3:5] == [
        "3 hosted bots: 2 on the 10 slots of 2 runners",
        "1 version waits for a check; the programs take 2.5 MiB",
    ]
    assert lines[6].split() == ["1", "rack-3", "3", "min", "2", "of", "2", "0.75", "ann,", "bob,", "checks", "cid"]
    assert lines[7].split() == ["4", "-", "3", "min", "2", "of", "8", "-", "plays", "t1-00003", "of", "t7"]
    assert lines[-1] == r"3 min ago  cid 12   grundy: failed after 3 plies: its \x1b[2J clock ran out"
    assert max(map(len, lines)) <= 80


def test_it_warns_if_no_runner_is_connected() -> None:
    told = HostingStatus(runners=[], hosted=0, waiting=2, failed=[], stored_bytes=0)
    assert "warning: no runner is connected" in "\n".join(status_lines(present(hosting=told), 20, 80))
    assert "runner" not in "\n".join(status_lines(present(), 20, 80))


async def test_a_server_tells_its_bots_seeks_matches_and_failures(serve: Any) -> None:
    served = await serve()
    await served.begun()
    cid = await served.enter("cid", version="2", slots=2)
    await cid.send(type="seek", id="s1", game="grundy", opponent="dan")
    await cid.send(type="seek", id="s2", game="nim", open=True)
    await cid.send(type="list")
    await cid.expect("listing")
    served.arena.host.events.log_refused("10.0.0.9", "it connects too often")
    state = await served.perform(StatusRequest(most=2))
    assert (state.connected, [bot.bot for bot in state.bots], state.under_way) == (3, ["ann", "bob"], 1)
    assert (state.matches[0].to_move, state.matches[0].clock_ms[1]) == (0, 60_000)
    assert [(failure.who, failure.text) for failure in state.failures] == [
        ("10.0.0.9", "rejected: it connects too often")
    ]
    state = await served.perform(StatusRequest())
    assert [(seek.game, seek.open, seek.opponents) for seek in state.bots[2].seeks] == [
        ("grundy", False, ["dan"]),
        ("nim", True, []),
    ]


async def test_the_command_asks_the_server_of_the_data_folder(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    async with (
        hosting(tmp_path, "--pairing-log") as served,
        connect(served.url, subprotocols=[Subprotocol("arena.v1.json")]) as wire,
    ):
        await wire.send('{"type":"hello","bot":"Ann","version":"7"}')
        await wire.recv()
        await wire.send('{"type":"seek","id":"s","game":"nim","opponent":"bob"}')
        await wire.send('{"type":"seeks"}')
        await wire.recv()
        done = await call_beside("arena", "status", *data)
        assert (done.code, done.err) == (0, "")
        assert "1 bot online, 0 matches under way" in done.out
        told = await call_beside("arena", "status", "--json", *data)
        assert json.loads(told.out)["bots"][0]["version"] == "7"
        why = await call_beside("arena", "status", "--bot", "ann", *data)
        assert why.out.splitlines()[1].endswith(" s: bob is not connected"), why.out
        assert await call_beside("arena", "status", "--bot", "zoe", *data) == (1, "", "arena: zoe is not connected\n")
    log = call("arena", "pairing", "ANN", *data).out
    assert [line[21:] for line in log.splitlines()] == [
        "connected from 127.0.0.1, with 1 slot",
        "seeks a match of nim",
        "waits: bob is not connected",
        "disconnected",
    ]


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        ([], 1, "no server runs on"),
        (["--watch"], 2, "--watch needs a terminal"),
        (["--bot", "ann"], 1, "no server runs on"),
    ],
)
def test_without_a_server_or_a_terminal_it_says_so(tmp_path: Path, options: list[str], code: int, text: str) -> None:
    done = call("arena", "status", *options, "--data", str(tmp_path))
    assert (done.code, done.out) == (code, "")
    assert text in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("status", "--data", "{data}"),
        ("watch", "--data", "{data}"),
        ("drain", "--data", "{data}"),
        ("tournament", "a", "b", "--game", "nim", "--server", "{data}", "--data", "{own}"),
    ],
    ids=lambda words: words[0],
)
def test_beside_a_tournament_it_is_said_what_shows_that(tmp_path: Path, words: tuple[str, ...]) -> None:
    data = tmp_path / "data"
    command = ["arena", *(word.format(data=data, own=tmp_path / "own") for word in words)]
    with lock(data):
        done = call(*command)
    busy = f"no server runs on {data}, but a tournament or another command (or a server that is about to answer)"
    assert (done.code, done.err) == (1, f"arena: {busy}: `arena web --data {data}` shows in a browser how it goes\n")
    done = call(*command)
    assert f"no server runs on {data}: " in done.err
    assert "arena web" not in done.err
