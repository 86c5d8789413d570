"""The bot `level`: eight evenly spaced playing strengths, from random moves to those of a strong bot."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from bots.client.bot import Bot, Choice, GameList, Turn
from bots.client.loading import find_entry_point, make_bot
from bots.client.settings import read_integer
from bots.reference.random_bot import RandomBot
from protocol.bot_launch import LEVELLED_BOT, MAX_LEVEL, parse_bot_spec
from protocol.games import clear_on_registration, game_names, game_spec, is_in_package, is_known_game, load_game
from protocol.games.base import Game
from protocol.messages import End, Rejected, Start

TABLES_FILE = "levels.toml"
"""The name of the files that define levels. The package of each game whose levels were measured has one. This package
has one for all other games."""


class Mixture(Struct, frozen=True):
    """A definition of a game's levels. `bot` names a strong bot, as on the command line. `random_share` has the
    fraction of moves that are random, for each level from 1 on. The strong bot chooses all other moves.
    """

    bot: str
    random_share: Sequence[float]


class _Tables(Struct, frozen=True):
    measured: Mapping[str, Mixture]
    """The definitions of the levels of games whose levels were measured, by game. For a preset with its own levels, the
    key is its pool."""
    unmeasured: Sequence[Mixture]
    """Definitions of levels for zero-sum games that are not in `measured`: a game gets the first one whose bot plays
    it."""


@clear_on_registration
@cache
def load_tables() -> _Tables:
    """Return the definitions of levels in this package's `levels.toml` and in those of all games."""
    measured: dict[str, Any] = {}
    for room in dict.fromkeys(game_spec(game).room for game in filter(is_in_package, game_names())):
        if (file := files(room) / TABLES_FILE).is_file():
            measured |= tomllib.loads(file.read_text("utf-8"))
    text = files(__package__).joinpath(TABLES_FILE).read_text("utf-8")
    return msgspec.convert({**tomllib.loads(text), "measured": measured}, _Tables)


def find_mixture(game: str, pool: str | None = None) -> Mixture | None:
    """Return the definition of levels for `pool`; if it has none of its own, the definition for `game`. Return None if
    there is neither.
    """
    measured = load_tables().measured
    if pool is not None and pool in measured:
        return measured[pool]
    if game in measured or not _has_scale(game):
        return measured.get(game)
    return next((one for one in load_tables().unmeasured if game in _games_of(one.bot)), None)


@clear_on_registration
@cache
def _has_scale(game: str) -> bool:
    """Return whether a game has a scale of strength: its rules are here, and one player's gain is another's loss."""
    return is_known_game(game) and load_game(game).zero_sum


def _games_of(word: str) -> Sequence[str]:
    games: Sequence[str] = find_entry_point(parse_bot_spec(word, "").bot).load().games
    return games


class Level(Bot):
    """Plays as a strong bot does, except for a fraction of random moves, which is lower at higher levels. The fractions
    are fitted so that levels are evenly spaced on the ladder.
    """

    settings: ClassVar[Mapping[str, str]] = {
        LEVELLED_BOT: f"1 to {MAX_LEVEL}: from random moves to strong play; level:3 is short for level:level=3"
    }
    games: Sequence[str] = GameList(lambda game: find_mixture(game) is not None)

    def __init__(self, name: str, version: str = "", *, level: int | str = 1, mixture: Mixture | None = None) -> None:
        """Make a bot of the level `level`. If `mixture` is given, it defines the levels of every game, instead of the
        files `levels.toml`.
        """
        super().__init__(name, version)
        self._level = read_integer(name, LEVELLED_BOT, level, MAX_LEVEL) or 1
        self._own_mixture = mixture
        self._strong_bots: dict[str, Bot] = {}
        """The strong bots, by the word that names each on the command line."""
        self._bots_by_match: dict[str, Bot] = {}
        """The strong bot that plays each match, by match."""
        self._random = RandomBot(name)

    def check_game(self, game: Game[Any, Any]) -> None:
        if self._own_mixture is None:
            super().check_game(game)
        self._strong_bot_for(game).check_game(game)

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        if game is not None and self._random_share(game) < 1:
            self._strong_bot_for(game).warm_up(game)

    def prepare(self, start: Start) -> None:
        strong = self._bots_by_match[start.match] = self._strong_bot_for(load_game(start.game, start.config))
        strong.prepare(start)

    def choose(self, turn: Turn) -> Mapping[str, Any] | Choice:
        if turn.random.random() < self._random_share(turn.rules):
            return self._random.choose(turn)
        return self._strong_bot_for(turn.rules).choose(turn)

    def move_probabilities(self, turn: Turn) -> Sequence[float | Fraction] | None:
        strong = self._strong_bot_for(turn.rules).move_probabilities(turn)
        random = self._random.move_probabilities(turn)
        if strong is None or random is None:
            return None
        share = self._random_share(turn.rules)
        return [share * float(one) + (1 - share) * float(other) for one, other in zip(random, strong, strict=True)]

    def rejected(self, rejected: Rejected) -> None:
        if (strong := self._bots_by_match.get(rejected.match)) is not None:
            strong.rejected(rejected)

    def ended(self, end: End) -> None:
        if (strong := self._bots_by_match.pop(end.match, None)) is not None:
            strong.ended(end)

    def missed(self, match: str) -> None:
        if (strong := self._bots_by_match.pop(match, None)) is not None:
            strong.missed(match)

    def _random_share(self, rules: Game[Any, Any]) -> float:
        return self._find_mixture(rules).random_share[self._level - 1]

    def _find_mixture(self, rules: Game[Any, Any]) -> Mixture:
        found = self._own_mixture or find_mixture(rules.name, rules.pool)
        assert found is not None, "check_game said so"
        return found

    def _strong_bot_for(self, rules: Game[Any, Any]) -> Bot:
        word = self._find_mixture(rules).bot
        if word not in self._strong_bots:
            spec = parse_bot_spec(word, "")
            self._strong_bots[word] = make_bot(find_entry_point(spec.bot).load(), self.name, spec.settings, {})
        return self._strong_bots[word]
