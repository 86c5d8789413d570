"""The plan of a tournament: a schedule that follows from its seed.

All randomness is derived from the seed, the names and the pairings. So the same arguments give the same matches, and a
stopped tournament continues with the missing matches.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from arena.ratings import tournament_pairing
from arena.ratings.tournament_pairing import Pairing
from arena.runs.contestants import Contestant
from machine.arguments import read_clock
from protocol.dice import Dice
from protocol.games import load_game
from protocol.games.base import Game
from protocol.messages import Clock
from protocol.names import fold_name
from referee.record import Header, RecordedSeat, make_header
from referee.result import Result, match_points


class RunTerms(Struct, frozen=True, kw_only=True):
    """The terms of a tournament, which identify it, together with its seed.

    `words` name the bots, `settings` are those of all bots, and `clock` is the word of the time control. `further` are
    more arguments that identify it: `afar` is true if its bots are connected to a server, `rated` is false if no match
    is rated.
    """

    words: Sequence[str]
    contestants: tuple[Contestant, ...]
    settings: Mapping[str, str]
    rules: Game[Any, Any]
    format: str
    rounds: int
    paired: bool
    clock: str
    further: Mapping[str, Any] = {}

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments that, with the seed, identify the tournament."""
        return {
            "bots": list(self.words),
            "settings": self.settings,
            "game": self.rules.name,
            "config": self.rules.config,
            "format": self.format,
            "rounds": self.rounds,
            "paired": self.paired,
            "clock": self.clock,
            **self.further,
        }

    @property
    def key(self) -> str:
        """The `arguments` in canonical JSON."""
        return _encode_canonical(self.arguments)

    @property
    def randomness_key(self) -> str:
        """The arguments that determine dice and seats if the seed is given, in canonical JSON.

        The commands that start the bots are not among them.
        """
        arguments = self.arguments
        played = {name: arguments[name] for name in ("game", "config", "format", "paired")}
        return _encode_canonical({**played, "names": [contestant.name for contestant in self.contestants]})

    def plan(self, tournament: str, seed: str, stem: str | None = None, prefix: str | None = None) -> Plan:
        """Return the plan of a tournament. `stem` is the stored text that its randomness is derived from, together with
        the seed. `prefix` is the stored beginning of its match ids. Both default to `tournament`.
        """
        return Plan(
            id=tournament,
            seed=seed,
            contestants=self.contestants,
            rules=self.rules,
            format=self.format,
            rounds=self.rounds,
            paired=self.paired,
            clock=read_clock(self.clock),
            stem=stem,
            prefix=prefix,
            rated=self.further.get("rated", True),
        )


class Plan(Struct, frozen=True, kw_only=True):
    """The plan of a tournament.

    All randomness (pairings, seats, dice and nonces) follows from `seed` and the text `stem`. The ids of matches begin
    with `prefix`. `stem` and `prefix` default to `id`. If `rated` is false, no match is rated.
    """

    id: str
    seed: str
    contestants: tuple[Contestant, ...]
    rules: Game[Any, Any]
    format: str
    rounds: int
    paired: bool
    clock: Clock
    stem: str | None = None
    prefix: str | None = None
    rated: bool = True

    def derive(self, purpose: str) -> bytes:
        """Return 32 bytes derived from the tournament's seed, its `stem` (by default the id), and a purpose such as
        `schedule`.
        """
        return _derive_bytes(self.seed, self.stem or self.id, purpose)

    def bot_seed(self, bot: str) -> str:
        """Return the seed of a bot's own randomness and nonces."""
        return bot_seed(self.seed, self.stem or self.id, bot)

    @property
    def names(self) -> list[str]:
        """The names of the bots, in the order of the command line."""
        return [contestant.name for contestant in self.contestants]

    @property
    def pool(self) -> str | None:
        """The rating pool of the matches: that of the preset, even if start positions are drawn at random. None if the
        matches are not rated.
        """
        return self.rules.pool if self.rated and self.format != tournament_pairing.TEST_FORMAT else None

    def log_folder(self, data_folder: Path) -> Path:
        """Return the folder for the logs of bots. Each worker after the first has a subfolder of it."""
        return data_folder / "tournaments" / self.id

    def bot_logs(self, data_folder: Path, bot: str) -> list[Path]:
        """Return the existing log files of a bot; if there are none, return the path of the first worker's log."""
        logs = self.log_folder(data_folder)
        return sorted(logs.glob(f"**/{bot}.log")) or [logs / f"{bot}.log"]

    def schedule(self, results: Sequence[Result]) -> list[Pairing]:
        """Return all pairings of the tournament or, if it is a swiss tournament, those up to the current round."""
        chance = Random(self.derive("schedule"))
        if self.format == "swiss":
            return self._swiss_schedule(results)
        everyone = tournament_pairing.gauntlet if self.format == "gauntlet" else tournament_pairing.round_robin
        return everyone(self.names, self.rounds, chance, seats=self.rules.seats, paired=self.paired)

    def missing(self, results: Sequence[Result]) -> list[Pairing]:
        """Return the matches of the schedule so far that have no result, in its order. The plan is played when there
        are none.
        """
        done = set(map(place_of, results))
        return [match for match in self.schedule(sorted(results, key=place_of)) if match.place not in done]

    def _swiss_schedule(self, played: Sequence[Result]) -> list[Pairing]:
        """Return the pairings of a swiss tournament, up to and including the first unfinished round. The pairings of a
        round follow from the results of earlier rounds.
        """
        pairings: list[Pairing] = []
        for number in range(self.rounds):
            done = [result for result in played if place_of(result) < len(pairings)]
            if len(done) < len(pairings):
                break
            scores = dict.fromkeys(self.names, 0.0)
            seats = {pairing.place: pairing.seats for pairing in pairings}
            for result in done:
                for bot, score in zip(seats.get(place_of(result), ()), match_points(result), strict=False):
                    scores[bot] += score
            for bot, count in tournament_pairing.count_byes(self.names, pairings).items():
                scores[bot] += count * (2 if self.paired else 1)
            chance = Random(self.derive(f"swiss/{number}"))
            pairings += tournament_pairing.swiss(self.names, pairings, scores, chance, paired=self.paired)
        return pairings

    def with_plan_names(self, results: Sequence[Result]) -> list[Result]:
        """Return stored results with the bots' names in the plan. Bots may have been renamed since they played."""
        if not results:
            return []
        seats = {pairing.place: pairing.seats for pairing in self.schedule(results)}
        return [_with_bots(result, seats.get(place_of(result))) for result in results]

    def renamed_bots(self, results: Sequence[Result]) -> dict[str, str]:
        """Return the present names of the bots that were renamed or deleted since they played, by their names in the
        plan. `results` are as stored.
        """
        return {
            planned.bot: stored.bot
            for result, named in zip(results, self.with_plan_names(results), strict=True)
            for stored, planned in zip(result.seats, named.seats, strict=True)
            if fold_name(stored.bot) != fold_name(planned.bot)
        }

    @property
    def match_count(self) -> int:
        """The number of all matches of the tournament."""
        seats = self.rules.seats
        return tournament_pairing.count_matches(
            self.format, len(self.contestants), self.rounds, seats=seats, paired=self.paired
        )

    def header_of(self, pairing: Pairing, started: str, version: Callable[[str], str]) -> tuple[Header, bytes]:
        """Return the record header of a pairing's match, and the seed of its dice. `started` is the time of its start;
        `version` returns the version of a bot.
        """
        seed = self.derive(f"dice/{pairing.place}")
        header = make_header(
            match=f"{self.prefix or self.id}-{pairing.place:05d}",
            game=self.game_of(pairing),
            seats=[RecordedSeat(bot=bot, version=version(bot)) for bot in pairing.seats],
            seed=seed,
            pool=self.pool,
            clock=self.clock,
            started=started,
            tournament=self.id,
            place=pairing.place,
        )
        return header, seed

    @property
    def origin(self) -> str:
        """A text that identifies the tournament to users: its seed, its id and the prefix of its matches' ids."""
        return f"seed {self.seed}, id {self.id}, matches {self.prefix or self.id}-*"

    def start_of(self, result: Result) -> int | None:
        """Return the number of the start position that a match shares with other matches; None if it is unique."""
        paired = self.paired and result.place is not None
        return tournament_pairing.start_at(place_of(result), self.rules.seats) if paired else None

    def with_start(self, result: Result) -> Result:
        """Return a result as it is stored: with the name of the start position that its match shares with others."""
        if not self.paired or result.place is None:
            return result
        return replace(result, start=tournament_pairing.start_name(self.id, result.place, self.rules.seats))

    def game_of(self, pairing: Pairing) -> Game[Any, Any]:
        """Return the game of a pairing, with its config. If `paired`, matches from one start have the same deal."""
        if not self.paired:
            return self.rules
        return load_game(self.rules.name, self.rules.config_of_deal(Dice(self.derive(f"start/{pairing.start}"), 0)))


def _encode_canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _with_bots(result: Result, bots: Sequence[str] | None) -> Result:
    if bots is None:
        return result
    return replace(result, seats=[replace(seat, bot=bot) for seat, bot in zip(result.seats, bots, strict=True)])


def bot_seed(seed: str, stem: str, bot: str) -> str:
    """Return the seed of a bot's own randomness and nonces. It is derived from the tournament's seed, the tournament's
    stem (see `Plan`) and the bot's name.
    """
    return _derive_bytes(seed, stem, f"bot/{bot}").hex()


def _derive_bytes(seed: str, stem: str, what: str) -> bytes:
    return hashlib.sha256(f"{seed}/{stem}/{what}".encode()).digest()


def place_of(result: Result) -> int:
    """Return the number of a result's match in the schedule of its tournament, or -1 if it is not in a schedule."""
    return -1 if result.place is None else result.place
