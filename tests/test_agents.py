"""`arena-bot mcp`: the Model Context Protocol's own client plays by it at an arena."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

import zygote
from agents import Model, model, model_program
from commands import call
from in_process import hosting, playing
from players import player
from protocol import games
from timeouts import WITHIN
from volumes import IS_NIGHTLY

SOME_GAMES = ("nim", "dilemma")
"""One that is solved, and one of moves at once. CI plays all."""


async def test_a_model_plays_a_rated_match_of_each_game_and_reads_it_back(tmp_path: Path) -> None:
    async with (
        hosting(tmp_path, "--web-port", "0") as served,
        playing(served, "random", "--open"),
        model(served.url, tmp_path) as agent,
    ):
        told = await agent.call("list_games")
        assert [game["game"] for game in told["games"]] == list(games.game_names())
        for game in told["games"]:
            if game["game"] not in SOME_GAMES and not IS_NIGHTLY:
                continue
            presets = [preset["preset"] for preset in game["presets"]]
            preset = "short" if "short" in presets else presets[0]
            look = await agent.call("seek_match", game=game["game"], preset=preset, wait_s=40)
            assert (look["match"]["rated"], look["match"]["preset"]) == (True, preset)
            look = await agent.play(look)
            assert re.match(
                r"model: (won|lost|drew) \S+ against random( \(.*\))?(, .* a (round|hand))?, rating 25.0 ± ",
                look["match"]["result"],
            )
            await assert_read_back(agent, game["game"], look["match"])
        leaders = await agent.call("leaderboard", game="nim", preset="classic")
        assert {one["bot"] for one in leaders["bots"]} == {"model", "random"}


async def assert_read_back(agent: Model, game: str, match: dict[str, Any]) -> None:
    """The match is found, its replay has what was said of each move, and its grades are there where it is solved."""
    (found,) = (await agent.call("find_matches", game=game))["matches"]
    assert found["match"] == match["match"]
    by_outcome = [await agent.call("find_matches", game=game, outcome=how) for how in ("won", "drawn", "lost")]
    assert [one for answer in by_outcome for one in answer["matches"]] == [found]
    replay = await agent.call("read_replay", match=match["match"])
    own = [ply for ply in replay["plies"] if "model: " in ply["happened"]]
    assert own
    assert all(ply["note"].endswith("is the first of the list") for ply in own)
    if game in ("nim", "grundy", "risk-duel", "kuhn", "leduc"):
        grades = await agent.call("read_grades", match=match["match"])
        assert {seat["bot"] for seat in grades["seats"]} == {"model", "random"}
    else:
        assert "has no grades" in (said := await agent.refusal("read_grades", match=match["match"])) or "solved" in said


LONG = "x" * 300_000
MALFORMED: list[tuple[str, dict[str, Any], str]] = [
    ("castle", {}, "there is no tool 'castle': one of list_games, who_is_here, seek_match, "),
    (LONG, {}, "there is no tool 'xxxxx"),
    ("seek_match", {}, "seek_match: game is missing: the name of a game, as in list_games"),
    ("seek_match", {"game": "chess"}, "there is no game 'chess': one of nim, grundy, tictactoe, "),
    ("seek_match", {"game": 5}, "seek_match: game is 5: the name of a game, as in list_games"),
    ("seek_match", {"game": LONG}, "seek_match: game is 'xxxxx"),
    ("seek_match", {"game": "nim", "preset": "grand"}, "nim has no preset 'grand': one of classic, min-nim, sticks"),
    ("seek_match", {"game": "nim", "wait_s": 3600}, "seek_match: wait_s is 3600: an integer from 0 to 40"),
    ("seek_match", {"game": "nim", "wait_s": "long"}, "seek_match: wait_s is 'long': an integer from 0 to 40"),
    ("seek_match", {"game": "nim", "opponent": "a\x00b"}, "seek_match: opponent is 'a\\x00b': the bot to play against"),
    ("seek_match", {"game": "nim", "opponent": "bob", "rated": True}, "a match against a named opponent is unrated: "),
    ("seek_match", {"game": "nim", "rated": True, "slow": True}, "a rated match cannot have the slow clock: "),
    ("seek_match", {"game": "nim", "colour": "red"}, "seek_match: there is no field 'colour': one of game, preset, "),
    ("cancel_seek", {}, "you have no seek to cancel: seek_match makes one"),
    ("move", {"move": "1 from heap 0"}, "you have no match: call seek_match for a new one"),
    ("resign", {}, "you have no match in progress: there is nothing to resign"),
    ("look", {"wait_s": [5]}, "look: wait_s is [5]: an integer from 0 to 40"),
    ("look", {"wait_s": "5.5"}, "look: wait_s is '5.5': an integer from 0 to 40"),
    ("look", {"wait_s": "41"}, "look: wait_s is '41': an integer from 0 to 40"),
    ("move", {"move": ["1"]}, "move: move is ['1']: a move, written like the legal moves that look lists, or "),
    ("move", {"move": None}, "move: move is None: a move, written like the legal moves that look lists, or "),
    (
        "read_replay",
        {"match": "../../etc/passwd"},
        "read_replay: match is '../../etc/passwd': the id of a finished match",
    ),
    (
        "read_replay",
        {"match": "nonsense"},
        "there is no finished match 'nonsense'; matches in progress are not available here",
    ),
    ("read_replay", {"match": ["m"]}, "read_replay: match is ['m']: the id of a finished match"),
    ("read_grades", {"match": "nonsense"}, "there is no finished match 'nonsense'"),
    ("find_matches", {"bot": "no such bot"}, "find_matches: bot is 'no such bot': a bot that played"),
    ("find_matches", {"limit": 10**30}, "find_matches: limit is 10000"),
    ("leaderboard", {"game": "nim", "preset": "../.."}, "nim has no preset '../..': one of classic, min-nim, sticks"),
]


async def test_every_malformed_call_is_answered_in_one_line_and_the_next_one_works(tmp_path: Path) -> None:
    async with hosting(tmp_path, "--web-port", "0") as served, model(served.url, tmp_path) as agent:
        for name, arguments, says in MALFORMED:
            line = await agent.refusal(name, **arguments)
            assert line.startswith(says), (name, line)
            assert line.isprintable(), line
            assert len(line) < 600, line
        assert (await agent.call("look"))["state"] == "no_match"


async def test_what_makes_no_sense_at_this_point_is_answered_in_one_line(tmp_path: Path) -> None:
    async with (
        hosting(tmp_path) as served,
        model(served.url, tmp_path) as agent,
        player(served.url, "bob") as bob,
    ):
        seeks = [agent.client.call_tool("seek_match", {"game": "nim", "wait_s": 0}) for _ in range(2)]
        assert sorted(result.is_error for result in await asyncio.gather(*seeks)) == [False, True]
        assert (await agent.refusal("seek_match", game="grundy")).startswith("you already seek nim: wait with look")
        assert (await agent.call("cancel_seek"))["state"] == "no_match"
        look = await agent.call("seek_match", game="nim", opponent="bob", wait_s=0)
        assert look["next"] == (
            "model: waiting for bob at nim, which is connected but does not seek it now; "
            "call look with wait_s to wait longer, or cancel_seek to give up"
        )
        await bob.seek(opponent="model")
        start = await bob.begin()
        if start["seat"] == 0:
            look = await agent.call("look")
            assert await agent.refusal("move", move="1 from heap 0") == (
                "it is not your turn: call look with wait_s to wait for it"
            )
            await bob.move(await bob.expect("turn"))
        look = await agent.call("look", wait_s=40)
        assert look["state"] == "your_turn"
        assert (await agent.refusal("seek_match", game="nim")).startswith(
            f"{start['match']} is in progress: finish or resign it "
        )
        for move, says in [
            ("9 from heap 1", "heap 1 holds 5: 9 cannot be taken; the heaps are ["),
            ("a4 x b5", "'a4 x b5' is not a move here: write it like 2 from heap 1, or 2 1; legal moves: "),
            ('{"heap": 1, "take"', '\'{"heap": 1, "take"\' is not JSON: '),
            ("[" * 1999, "'[[[["),
            ("\x1b[2J", "'\\x1b[2J' is not a move here: "),
            ("", "move: move is '': a move, written like the legal moves that look lists"),
            (LONG, "move: move is 'xxxx"),
            ({}, "a move looks like {"),
            ({"heap": 1, "take": "many"}, "take is 'many'"),
            ({"heap": "1", "take": "9"}, "heap 1 holds 5: 9 cannot be taken; the heaps are ["),
            ({"heap": 10**30, "take": 1}, "there is no heap 10000"),
            (9, "'9' is not a move here: "),
        ]:
            line = await agent.refusal("move", move=move)
            assert line.startswith(says), line
            assert line.isprintable(), line
            assert len(line) < 600, line
        assert (await agent.refusal("move", move="1 from heap 1", why="\x07")).startswith(
            "move: why is '\\x07': the reason, a sentence without "
        )
        why = "because " * 60
        look = await agent.call("move", move={"heap": "1", "take": "1"}, why=why, wait_s="0")
        assert look["state"] == "their_turn"
        assert (await agent.call("resign"))["match"]["result"].startswith("model: lost ")
        assert (await bob.expect("end"))["reason"] == "resigned"


async def test_a_model_that_thinks_too_long_loses_on_time_and_is_told_so(tmp_path: Path) -> None:
    async with (
        hosting(tmp_path, "--clock", "2+0") as served,
        model(served.url, tmp_path) as agent,
        player(served.url, "bob") as bob,
    ):
        while True:
            await bob.seek()
            look = await agent.call("seek_match", game="nim", wait_s=0)
            start = await bob.begin()
            if start["seat"] == 1:
                break  # bob has nothing to do, however busy the machine
            await bob.send("resign", match=start["match"])
            await bob.expect("end")
            while (await agent.call("look", wait_s=40))["state"] != "over":
                pass
        await bob.expect("end")
        while (look := await agent.call("look", wait_s=40))["state"] == "your_turn":
            pass  # bob heard of the end first
        assert look["state"] == "over"
        assert re.match(r"model: lost \S+ against bob \(timeout\)", look["match"]["result"])
        assert await agent.refusal("move", move="1 from heap 0") == (
            f"{look['match']['match']} is over: call seek_match for a new one"
        )


async def test_a_slow_agent_gets_the_slow_clock_in_an_unrated_match(tmp_path: Path) -> None:
    async with (
        hosting(tmp_path) as served,
        model(served.url, tmp_path, "--slow") as agent,
        player(served.url, "bob") as bob,
    ):
        await bob.seek(rated=False)
        await agent.call("seek_match", game="nim", wait_s=0)
        await bob.begin()
        match = (await agent.call("look", wait_s=1))["match"]
        assert (match["rated"], match["seconds_a_move"]) == (False, 10)
        assert match["players"][match["you"]]["seconds_left"] > 60, "more than the usual clock has"
        await bob.send("resign", match=match["match"])


async def test_the_end_of_standard_input_resigns_the_match_and_ends_the_server(tmp_path: Path) -> None:
    async with hosting(tmp_path) as served, player(served.url, "bob") as bob:
        await bob.seek()
        async with model_program(served.url, tmp_path) as agent:
            await agent.call("seek_match", game="nim", wait_s=0)
            await bob.begin()
            await agent.call("look")
        end = await bob.expect("end")
    assert [seat["reason"] for seat in end["seats"] if seat["bot"] == "model"] == ["resigned"]


async def test_the_match_of_a_client_that_died_is_resigned_without_a_traceback(tmp_path: Path) -> None:
    async with hosting(tmp_path) as served, player(served.url, "bob") as bob:
        await bob.seek()
        process = await raw(served.url, tmp_path)
        for message in (*handshake(), calling("seek_match", game="nim", wait_s=0)):
            await say(process, message)
        await bob.begin()
        process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
        await say(process, calling("look"))
        process.stdin.close()  # type: ignore[union-attr]
        end = await bob.expect("end")
        err = await process.stderr.read()  # type: ignore[union-attr]
    assert [seat["reason"] for seat in end["seats"] if seat["bot"] == "model"] == ["resigned"]
    assert (await process.wait(), b"Traceback" in err) == (0, False)


async def test_an_agent_that_was_killed_comes_back_to_its_match(tmp_path: Path) -> None:
    async with hosting(tmp_path) as served, player(served.url, "bob") as bob:
        await bob.seek()
        first = await raw(served.url, tmp_path)
        try:
            for message in handshake():
                await say(first, message)
            await say(first, calling("seek_match", game="nim", wait_s=0))
            start = await bob.begin()
        finally:
            first.send_signal(signal.SIGTERM)
            await first.wait()
        async with model(served.url, tmp_path) as agent:
            look = await agent.call("look")
            assert look["match"]["match"] == start["match"]
            assert look["state"] in ("your_turn", "their_turn", "starting")


async def test_nothing_but_the_protocol_is_on_standard_output_and_garbage_ends_nothing(tmp_path: Path) -> None:
    async with hosting(tmp_path) as served:
        process = await raw(served.url, tmp_path)
        assert process.stdin is not None
        for message in handshake():
            await say(process, message)
        broken = [b"no JSON", b"\x00\xff\xfe", b"[" * 100_000, b'{"id": 4', b'{"jsonrpc": "2.0"} {}']
        wrong = [b"{}", b"[]", b"5", b'{"jsonrpc": "2.0"}', b'{"jsonrpc": "1.0", "id": 5, "method": "ping"}']
        process.stdin.write(b"\n".join([*broken, b"", b"  ", *wrong, b""]))
        process.stdin.write(b'\xef\xbb\xbf{"jsonrpc": "2.0", "id": 6, "method": "ping"}\n')
        await say(process, {**calling("look"), "params": {"name": "look", "arguments": "none"}, "id": 7})
        await say(process, calling("look"))
        lines: list[dict[str, Any]] = []
        assert process.stdout is not None
        async with asyncio.timeout(WITHIN):
            while not lines or lines[-1].get("id") != 9:
                lines.append(json.loads(await process.stdout.readline()))
            await say(process, {**calling("seek_match", game="nim", wait_s=40), "id": 10})
            process.stdin.close()
            rest, err = await process.stdout.read(), await process.stderr.read()  # type: ignore[union-attr]
            await process.wait()
        assert all(line["jsonrpc"] == "2.0" for line in lines)
        errors = [(line["id"], line["error"]["code"]) for line in lines if "error" in line and line["id"] != 7]
        assert errors == [*[(None, -32700)] * len(broken), *[(None, -32600)] * (len(wrong) - 1), (5, -32600)]
        assert next(line for line in lines if line.get("id") == 6)["result"] == {}
        assert next(line for line in lines if line.get("id") == 7)["error"]["code"] == -32602
        assert lines[-1]["result"]["structuredContent"]["state"] == "no_match"
        assert json.loads(rest)["error"]["message"] == "Connection closed"  # nobody is waited for
        assert process.returncode == 0
        assert b"Traceback" not in err


async def test_an_agent_that_the_arena_refuses_says_why_at_every_call(tmp_path: Path) -> None:
    async with hosting(tmp_path) as served, player(served.url, "model"):
        (tmp_path / "token").write_text("that-is-another-token\n")
        async with model(served.url, tmp_path, "--token-file", str(tmp_path / "token")) as agent:
            says = (
                "not connected: model: model is taken here, not by this token; "
                "choose another name, or give its token (auth_failed); "
                "choose another name with --name, or give the token with --token-file or ARENA_TOKEN"
            )
            assert (await agent.refusal("seek_match", game="nim")).startswith(says)
            look = await agent.call("look")
            assert (look["state"], look["next"].startswith(says)) == ("not_connected", True)


async def test_without_an_arena_a_call_says_so_and_without_a_page_what_to_start_it_with(tmp_path: Path) -> None:
    async with hosting(tmp_path) as served, model(served.url, tmp_path) as agent:
        assert "names no page: give the page's address, as in a browser, with --page" in await agent.refusal(
            "find_matches"
        )
    async with model(served.url, tmp_path, "--page", served.url.replace("ws", "http")) as agent:
        assert "no arena answers at" in (await agent.call("look"))["next"]
        assert (await agent.refusal("find_matches")).endswith("Connection refused; give the page's address with --page")


def test_wrong_usage_and_a_missing_extra_are_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for words, says in [
        ((), "it plays under a name of its own: add --name NAME"),
        (("--name", "a b"), "the bot's name is 'a b': 1 to 32 letters"),
        (("--name", "ann", "--url", "http://127.0.0.1"), "the arena's URL is 'http://127.0.0.1': write it like ws://"),
        (("--name", "ann", "--page", "8080"), "the page's address is '8080': write it like http://127.0.0.1:8080"),
        (
            ("--name", "ann", "--token-file", str(tmp_path / "none")),
            f"the token file {tmp_path / 'none'}: No such file",
        ),
    ]:
        done = call("arena-bot", "mcp", *words)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith(f"arena-bot: {says}"), done.err
    monkeypatch.delitem(sys.modules, "bots.agents.server")
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    missing = "arena-bot: the extra mcp is missing: in the folder of Bot Arena, pip install -e '.[mcp]'\n"
    assert call("arena-bot", "mcp", "--name", "ann") == (2, "", missing)


async def raw(url: str, folder: Path) -> asyncio.subprocess.Process:
    """`arena-bot mcp` under the name model, whose standard input and output are the test's."""
    return await zygote.async_program(
        ["bots", "mcp", "--url", url, "--name", "model"],
        env=zygote.environment(XDG_CONFIG_HOME=str(folder), PATH=""),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=2**20,
    )


def handshake() -> list[dict[str, Any]]:
    """What a client says first, in the way that all of them know."""
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    return [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]


def calling(name: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


async def say(process: asyncio.subprocess.Process, message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    await process.stdin.drain()
