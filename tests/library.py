"""A store full of matches that reference bots played in memory: the same at the same times, whenever it is made."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from arena.store.finish import StorableMatch, finish_matches
from arena.store.store import Store
from arena.store.tournament_state import finish_tournament, open_tournament
from bots import Bot, Choice
from bots.reference.perfect import Perfect
from bots.reference.random_bot import RandomBot
from bots.reference.search_bots import Greedy
from golden.make import refereed
from machine.timestamps import format_timestamp
from plans import plan
from protocol.games import load_game
from protocol.games.base import Game
from protocol.messages import Clock
from referee.effects import DeadlineReached, Forfeit, MatchEvent, MoveReceived, Resignation
from referee.footer import UnratedRecord
from referee.match import Match
from referee.record import RecordedSeat, make_header
from turns import move_of, turn

OPENED = datetime(2026, 1, 5, 9, tzinfo=UTC)
CLOCK = Clock(bank_ms=60_000, increment_ms=500)
SILENCE = ("resign", "sleep", "leave", "cheat")


class Entrant(NamedTuple):
    """A bot with its version and the seconds that it thinks about a move, on the average.

    At the ply `at`, if it is its turn, it does what `ends` says: one of SILENCE.
    """

    name: str
    bot: Callable[[str], Bot]
    version: str = "1.0"
    pace: float = 0.3
    ends: str = ""
    at: int = 6
    note: str | None = None


class Library:
    """Puts matches into a store, one every few minutes from `OPENED` on."""

    def __init__(self, store: Store, seed: str = "library") -> None:
        self.store = store
        self.now = OPENED
        self._chance = random.Random(seed)
        self._count = 0

    def play(self, game: str, seats: Sequence[Entrant], config: dict[str, Any] | None = None, **fixed: Any) -> str:
        """Referee a match and store it, rated where its config is; its id."""
        rules = load_game(game, config)
        self._count += 1
        match = fixed.pop("match", f"{game}-{self._count:04d}")
        pool = rules.pool if fixed.pop("rated", True) else None
        return self._play(rules, seats, match, pool, **fixed)

    def tournament(self, game: str, entrants: Sequence[Entrant], rounds: int) -> str:
        """Play a round robin and store it; its id."""
        named = {entrant.name: entrant for entrant in entrants}
        arguments = {
            "bots": [f"{name}=random" for name in named],
            "clock": "60+0.5",
            "config": load_game(game).config,
            "format": "round-robin",
            "game": game,
            "paired": False,
            "rounds": rounds,
            "settings": {},
        }
        id_, seed = self.store.write(open_tournament, json.dumps(arguments), None)
        entered = plan(list(named), game, id=id_, seed=seed, rounds=rounds)
        for pairing in entered.schedule([]):
            seats = [named[name] for name in pairing.seats]
            match = f"{id_}-{pairing.place:05d}"
            self._play(entered.rules, seats, match, entered.rules.pool, tournament=id_, place=pairing.place)
        self.store.write(finish_tournament, id_)
        return id_

    def _play(self, rules: Game[Any, Any], seats: Sequence[Entrant], match: str, pool: str | None, **fixed: Any) -> str:
        self.now += timedelta(minutes=self._chance.randint(2, 9), milliseconds=self._chance.randrange(1000))
        started = self.now
        seed = hashlib.sha256(f"seed of {match}".encode()).digest()
        header = make_header(
            match=match,
            game=rules,
            seats=[RecordedSeat(bot=entrant.name, version=entrant.version) for entrant in seats],
            seed=seed,
            pool=pool,
            clock=CLOCK,
            started=format_timestamp(started),
            **fixed,
        )
        chance, bots = self._chance, [entrant.bot(entrant.name) for entrant in seats]
        played, lines, seconds = refereed(
            header,
            seed,
            [chance.randbytes(16) for _ in seats],
            lambda match: _next(match, seats, bots),
            lambda match: _pace(match, seats) * chance.uniform(0.4, 1.9),
        )
        result = played.result(format_timestamp(started + timedelta(seconds=seconds)))
        self.store.write(finish_matches, [StorableMatch(result, UnratedRecord(lines, played.footer(result, None)))])
        return match


def _pace(match: Match, seats: Sequence[Entrant]) -> float:
    """The seconds that the seat to move thinks, on the average."""
    awaited = match.standing.course.awaited_seats if match.standing.course else ()
    return seats[awaited[0]].pace if awaited else 0.0


def _next(match: Match, seats: Sequence[Entrant], bots: Sequence[Bot]) -> MatchEvent:
    course = match.standing.course
    assert course is not None
    seat = course.awaited_seats[0]
    entrant = seats[seat]
    if entrant.ends and course.ply >= entrant.at:
        match entrant.ends:
            case "resign":
                return Resignation(seat)
            case "sleep":
                return DeadlineReached()
            case "leave":
                return Forfeit(seat)
            case "cheat":
                return MoveReceived(seat, course.ply, {"heap": -1, "take": 99})
    chosen = bots[seat].choose(turn(match.game, course.state, seat=seat, seed=entrant.name, match=match.id))
    info: dict[str, Any] = {}
    if isinstance(chosen, Choice):
        told = {"value": chosen.value, "depth": chosen.depth, "nodes": chosen.nodes, "note": chosen.note}
        info = {key: value for key, value in told.items() if value is not None}
    if entrant.note is not None:
        info["note"] = entrant.note
    return MoveReceived(seat, course.ply, dict(move_of(chosen)), info or None)


ANN = Entrant("ann", RandomBot, "2.1", 0.4)
BOB = Entrant("bob", Greedy, "0.9", 0.8)
PERFECT = Entrant("perfect", Perfect, "0.1.0", 0.05)


def fill(library: Library) -> dict[str, str]:
    """A little of everything; the ids of the matches that tests look at, by what is in them."""
    for number in range(24):
        pair = [(ANN, PERFECT), (PERFECT, BOB), (BOB, ANN)][number % 3]
        library.play("nim", pair if number % 2 else pair[::-1])
    endings = {ends: library.play("nim", [PERFECT, ANN._replace(ends=ends, at=2)]) for ends in SILENCE}
    for _ in range(4):
        library.play("tictactoe", [ANN, BOB])
        library.play("grundy", [ANN, PERFECT])
    cast = [Entrant(name, RandomBot, "1", pace) for name, pace in zip(SIX, (0.1, 0.2, 0.3, 0.5, 0.8, 1.3), strict=True)]
    return endings | {
        "nim": library.play("nim", [PERFECT, ANN._replace(note="any stick will do")]),
        "grundy": library.play("grundy", [ANN, PERFECT]),
        "tictactoe": library.play("tictactoe", [ANN, BOB]),
        "duel": library.play("risk-duel", [ANN, cast[0]]),
        "campaign": library.play("risk-campaign", cast, {"preset": "world", "max_rounds": 3}),
        "dilemma": library.play("dilemma", [ANN, cast[0]], {"preset": "axelrod"}),
        "kuhn": library.play("kuhn", [ANN, cast[1]], {"preset": "short"}),
        "leduc": library.play("leduc", [ANN, cast[2]], {"preset": "short"}),
        "tournament": library.tournament("nim", [PERFECT, *cast[:3]], 2),
    }


SIX = ("ada", "blaise", "carl", "david", "emmy", "felix")
