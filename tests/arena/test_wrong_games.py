"""A server with wrong or hostile rules: each fault is a line, costs no bot, and other games are played as before."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from arena.host.game_watch import GameLimits
from arena.host.rules_supervisor import RulesSupervisor
from arena.replay.verify import verify_record
from arena.runs.contestants import Contestant
from arena.runs.in_process import InProcessHost
from arena.runs.job import MatchJob
from arena.runs.sandbox import BotEnvironment
from arena.web.api.operations import games as list_games
from arena.web.pages.taking_part import list_offers
from arena.web.titles import match_title
from in_process import hosting
from plans import plan
from players import Map, Player, meet, player
from processes import RunningArena
from protocol.bot_launch import BotSpec
from protocol.errors import RulesFault
from protocol.games import game_class, game_names, load_game, playable_game_names
from referee.match import Match
from referee.record_reader import read_record
from timeouts import WITHIN
from wrong_games import brought, write_game

PLAY = "return Count(state.number + move, 1 - state.seat)"
RING = "import signal; signal.raise_signal(signal.SIGALRM)"
"""Code that does in rules what an alarm does once their time is up."""


async def sit_down(arena: RunningArena, stack: AsyncExitStack, *names: str, game: str = "counting") -> list[Player]:
    """Begin a match between these players. Return them in seat order."""
    players = [await stack.enter_async_context(player(arena.url, name)) for name in names]
    for one in players:
        await one.seek(game)
    seats = {(await one.begin())["seat"]: one for one in players}
    return [seats[seat] for seat in sorted(seats)]


async def first_move(players: list[Player]) -> None:
    await players[0].move(await players[0].expect("turn"))


async def told_void(one: Player) -> str:
    """Return the error that a player is told, and check that the match is void for it."""
    error: Map = await one.expect("error")
    end = await one.expect("end")
    assert end["reason"] == "void"
    assert {seat["reason"] for seat in end["seats"]} == {"void"}
    assert all("mu_after" not in seat for seat in end["seats"])
    return str(error["message"])


@pytest.mark.parametrize(
    ("play", "said"),
    [
        ("return 1 / 0", "counting.py, line 27: ZeroDivisionError: division by zero"),
        ("raise SystemExit", "counting.py, line 27: play raised SystemExit, which would end the server"),
        ("raise KeyboardInterrupt", "counting.py, line 27: play raised KeyboardInterrupt, which would end the server"),
        ("return bytes(1 << 62)", "counting.py, line 27: MemoryError"),
        ("return self.play(state, move)", "counting.py, line 27: RecursionError: maximum recursion depth exceeded"),
    ],
)
async def test_rules_that_fail_void_their_match_and_nim_beside_goes_on(tmp_path: Path, play: str, said: str) -> None:
    with brought(write_game(tmp_path, (PLAY, play))):
        async with AsyncExitStack() as stack:
            arena = await stack.enter_async_context(hosting(tmp_path / "data"))
            nim = [await stack.enter_async_context(player(arena.url, name)) for name in ("ann", "bob")]
            await meet(*nim)
            players = await sit_down(arena, stack, "cas", "dan")
            await first_move(players)
            for one in players:
                assert await told_void(one) == (
                    "the match is void: the rules of counting failed, which is no bot's fault"
                )
            assert f"is void: the rules of counting failed: {said}" in await arena.says("is void: ")
            ends = await asyncio.gather(*(one.play() for one in nim))
            assert [end["reason"] for end in ends] == ["win", "win"]
            assert not [line for line in arena.said if "Traceback" in line]


async def test_a_call_that_is_interrupted_closes_its_game_and_voids_all_its_matches(tmp_path: Path) -> None:
    with brought(write_game(tmp_path, (PLAY, f"{RING}\n        {PLAY}"))):
        async with AsyncExitStack() as stack:
            arena = await stack.enter_async_context(hosting(tmp_path / "data"))
            others = await sit_down(arena, stack, "ann", "bob")
            waiting = await stack.enter_async_context(player(arena.url, "eve"))
            await waiting.seek("counting", opponent="nobody")
            players = await sit_down(arena, stack, "cas", "dan")
            await first_move(players)
            for one in players:
                assert "the rules of counting failed" in await told_void(one)
            why = "counting is closed on this server, because a call of play took "
            for one in others:
                assert f"the match is void: {why}" in await told_void(one)
            assert (await waiting.expect("error"))["message"].startswith(f"this seek has ended: {why}")
            await waiting.seek("counting")
            assert (await waiting.expect("error"))["message"].startswith(f"seek: {why}")
            said = await arena.says("was interrupted, as it took longer than ")
            assert "counting.py, line 27: play was interrupted" in said
            assert "counting: a call of play took " in await arena.says("held up all other matches")
            await arena.says(f" {why}")
            nim = [await stack.enter_async_context(player(arena.url, name)) for name in ("fay", "gus")]
            await meet(*nim)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("1 / 0", "counting.py, line 29: ZeroDivisionError: division by zero"),
        (f"exec({RING!r})", "counting.py, line 29: play was interrupted, as it took longer than "),
    ],
)
async def test_a_match_whose_rules_fail_after_a_restart_is_void_and_the_server_starts(
    tmp_path: Path, fault: str, said: str
) -> None:
    changes = (
        (PLAY, f"if not self.fine:\n            {fault}\n        {PLAY}"),
        ("    name =", "    fine = True\n    name ="),
    )
    with brought(write_game(tmp_path, *changes)):
        async with AsyncExitStack() as stack:
            arena = await stack.enter_async_context(hosting(tmp_path / "data"))
            players = await sit_down(arena, stack, "ann", "bob")
            await first_move(players)
            await players[1].expect("turn")
        game_class("counting").rules_class.fine = False  # type: ignore[attr-defined]
        async with hosting(tmp_path / "data") as arena:
            assert f"the rules of counting failed: {said}" in await arena.says("is void: ")
            ended = await arena.says(" ended: counting, 1. ")
            assert ended.endswith(", void after 1 plies\n")


async def test_a_match_that_can_not_be_read_for_any_reason_does_not_keep_the_server_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        arena = await stack.enter_async_context(hosting(tmp_path / "data"))
        await first_move(await sit_down(arena, stack, "ann", "bob", game="nim"))
    monkeypatch.setattr(Match, "load_journal", lambda *given: 1 / 0)
    async with hosting(tmp_path / "data") as arena:
        assert "its journal stays unchanged" in await arena.says("can't be resumed")
        async with player(arena.url, "ann"):
            pass


async def test_a_server_starts_without_a_game_whose_rules_fail_at_once(tmp_path: Path) -> None:
    with brought(write_game(tmp_path, ("return Count()", "return 1 / 0"))):
        async with hosting(tmp_path / "data") as arena, player(arena.url, "ann") as ann:
            await ann.seek("counting")
            said = (await ann.expect("error"))["message"]
            assert said.startswith(
                "seek: counting is closed on this server, because counting.py, line 18: ZeroDivision"
            )


async def test_a_config_that_the_rules_fail_on_is_refused_without_blame(tmp_path: Path) -> None:
    text = "from protocol.games.turn_game import CHANCE, TurnGame, integer"
    changes = (
        ("from protocol.games.turn_game import CHANCE, TurnGame", text),
        ("    name =", "    least = integer(0, minimum=0, maximum=9)\n    name ="),
        ("return Count()", "return Count() if self.least < 5 else 1 / 0"),
    )
    with brought(write_game(tmp_path, *changes)):
        async with hosting(tmp_path / "data") as arena, player(arena.url, "ann") as ann:
            await ann.seek("counting", config={"least": 7})
            assert (await ann.expect("error"))["message"] == (
                "seek: the rules of counting failed, which is no bot's fault"
            )
            await arena.says("a seek is refused: the rules of counting failed: counting.py, line 19: ZeroDivisionError")


async def test_a_view_that_fails_voids_the_match_that_a_spectator_asked_for(tmp_path: Path) -> None:
    changes = (
        ("    name =", "    hidden = True\n    name ="),
        (
            "    def draw(",
            "    def seen(self, state, seat):\n        return state if seat is not None else 1 / 0\n\n    def draw(",
        ),
    )
    with brought(write_game(tmp_path, *changes)):
        async with AsyncExitStack() as stack:
            arena = await stack.enter_async_context(hosting(tmp_path / "data"))
            players = await sit_down(arena, stack, "ann", "bob")
            eve = await stack.enter_async_context(player(arena.url, "eve"))
            await first_move(players)
            await eve.send("watch", match=players[0].heard[-1]["match"])
            for one in players:
                await told_void(one)
            assert (await eve.expect("start"))["game"] == "counting"
            assert (await eve.expect("end"))["reason"] == "void"


async def test_rules_are_interrupted_when_their_time_is_up_and_no_other_code_is(tmp_path: Path) -> None:
    closed: list[tuple[str, str]] = []
    limits = GameLimits(slow_call_s=WITHIN / 2, call_timeout_s=WITHIN)
    changes = (
        ("return Count()", "return Count(1 if self.fine else self.wait())"),
        (
            "    name =",
            "    fine = True\n\n    def wait(self):\n        import signal\n\n"
            "        signal.raise_signal(signal.SIGALRM)\n\n    name =",
        ),
    )
    before = signal.getsignal(signal.SIGALRM)
    with brought(write_game(tmp_path, *changes)):
        supervisor = RulesSupervisor(lambda game, why: closed.append((game, why)), limits)
        game = supervisor.load_game("counting", {})
        assert game is not None
        game_class("counting").rules_class.fine = False  # type: ignore[attr-defined]
        with pytest.raises(RulesFault, match=r"counting.py, line 20: start was interrupted, as it took longer than"):
            game.initial(None)  # type: ignore[arg-type]
        with pytest.raises(RulesFault, match="counting is closed on this server"):  # other matches of this turn, too
            game.initial(None)  # type: ignore[arg-type]
        signal.raise_signal(signal.SIGALRM)  # it may come late
        await asyncio.sleep(0)
        assert [name for name, _ in closed] == ["counting"]
        with pytest.raises(RulesFault, match="a call of start took"):
            supervisor.load_game("counting", {})
        await supervisor.close()
    assert signal.getsignal(signal.SIGALRM) is before


@pytest.mark.parametrize(
    ("failing", "said"), [("1 / 0", "ZeroDivisionError: division by zero"), ("exit(3)", "SystemExit: 3")]
)
def test_a_match_in_process_whose_rules_fail_is_void_and_the_next_one_is_played(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, failing: str, said: str
) -> None:
    play = f"{PLAY} if self.fine else {failing}"
    with brought(write_game(tmp_path, (PLAY, play), ("    name =", "    fine = True\n    name ="))):
        contestants = tuple(Contestant(name, (), spec=BotSpec(bot="random", name=name, seed="")) for name in "ab")
        made = plan("ab", "counting", contestants=contestants)
        host = InProcessHost(MatchJob(key="k", plan=made, environment=BotEnvironment(variables={}), logs=tmp_path))
        first, second = made.missing([])
        game_class("counting").rules_class.fine = False  # type: ignore[attr-defined]
        void = host.play(first)
        game_class("counting").rules_class.fine = True  # type: ignore[attr-defined]
        assert [void.result.reason, host.play(second).result.reason] == ["void", "win"]
        verify_record(read_record(void.closed.pack_record(), void.result.match))
    (line,) = caplog.messages
    assert line.endswith(f" is void: the rules of counting failed: counting.py, line 28: {said}")


def test_pages_and_the_api_leave_out_a_game_whose_rules_fail(tmp_path: Path) -> None:
    with brought(write_game(tmp_path, ("return Count()", "return 1 / 0"))):
        assert "counting" in game_names()
        assert "counting" not in playable_game_names()
        assert [offer.game for offer in list_offers()] == list(playable_game_names())
        assert [row.game for row in list_games(None).rows] == list(playable_game_names())  # type: ignore[arg-type]
        assert match_title("counting", {}) == "Counting"


async def test_built_in_rules_are_called_without_a_guard(tmp_path: Path) -> None:
    supervisor = RulesSupervisor(lambda game, why: None, GameLimits())
    assert supervisor.load_game("nim", {}) is None
    assert supervisor.refusal_reason("nim", {"heaps": "wrong"}) is None
    assert load_game("nim").name == "nim"
