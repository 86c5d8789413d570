"""The programs that continue a recorded match. A bot's program is the one that the command line names, or else the one
that the match's tournament names, or else the reference bot of the same name. If its program is unknown or may have
changed since, another bot takes its place: a stand-in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from msgspec.structs import replace

from arena.processes.bot_commands import known_bots
from arena.runs.contestants import make_in_process_spec
from arena.runs.plan import bot_seed
from arena.store.tournament_state import TournamentOrigin
from protocol.bot_launch import LEVELLED_BOT, MAX_LEVEL, REFERENCE_BOTS, BotSpec, bot_name_of, split_bot_word
from protocol.errors import UsageFault
from protocol.games import games_with
from protocol.names import fold_name
from referee.record import Header

DEFAULT_STAND_INS = ("alphabeta:depth=3", "uct:sims=200")
"""The bots that stand in for a bot whose program is unknown: the first of these that plays the game is used. In games
that have a tree search of their own, it is the last. Their moves are the same on every machine.
"""
_LEVELLED_BOTS = {bot_name_of(word): word for word in (f"{LEVELLED_BOT}:{level}" for level in range(1, MAX_LEVEL + 1))}
"""The command-line words for the reference bot's levels, such as `level:3`. The key of each is the name that the bot
has by default at this level.
"""
PERSON_BOT = "human"
"""The name of the reference bot for people. It cannot continue a match."""


class Program(NamedTuple):
    """The program that continues a match in place of a recorded bot. `description` also says how it was found."""

    spec: BotSpec
    description: str


class Lineup(NamedTuple):
    """The bots that continue a match, by seat: `new` has the new bot in the replayed seat, `old` the recorded bot's
    program (None if unavailable). `others` describes the bots in the other seats.
    """

    new: tuple[BotSpec, ...]
    old: tuple[BotSpec, ...] | None
    old_description: str | None
    others: Mapping[int, str]
    known: tuple[int, ...]
    """The seats in which the recorded bots' own programs continue to play. A stand-in's seat is left out, and so is the
    replayed seat if the recorded bot's program is unavailable.
    """
    seeds: tuple[tuple[str, ...], ...]
    """The possible seeds of each recorded bot's randomness, by seat."""


class BotResolver:
    """Finds the programs that continue a match, from the arguments of the command.

    `bot` is the new bot, and `old` the program of the bot that it replaces. `opponents` are programs of other bots, as
    NAME=BOT. `origin` takes a tournament's id and returns its arguments, which name the programs of its bots. Raise
    `UsageFault` if an argument names no bot.
    """

    def __init__(
        self,
        bot: str,
        old: str | None,
        opponents: Sequence[str],
        stand_in: str | None,
        seed: str,
        origin: Callable[[str], TournamentOrigin | None],
    ) -> None:
        self._bot = split_bot_word(bot)[1]
        self._old = None if old is None else split_bot_word(old)[1]
        self._stand_in = stand_in
        self._seed = seed
        self._origin = origin
        self._named: dict[str, str] = {}
        for word in opponents:
            name, what = split_bot_word(word)
            if name is None:
                raise UsageFault(f"--opponent {word}: write NAME=BOT, with the NAME of the bot in the match")
            self._named[fold_name(name)] = what
        self._given = [what for what in (self._bot, self._old, *self._named.values(), stand_in) if what is not None]
        for what in self._given:
            make_in_process_spec("bot", what)

    def resolve(self, header: Header, seat: int, current_names: Sequence[str] | None = None) -> Lineup:
        """Return the bots that continue the match that `header` describes. Raise `UsageFault` if a seat has no program.

        `current_names` are the present names of the recorded bots, if some were renamed since.
        """
        origin = None if header.tournament is None else self._origin(header.tournament)
        names = [each.bot for each in header.seats]
        given = [self._named.get(fold_name(name)) for name in current_names or names]
        given[seat] = self._old or given[seat]
        found = {at: self._find_program(name, header.game, origin, given[at]) for at, name in enumerate(names)}
        old = found.pop(seat)
        others = {at: known or self._find_stand_in(names[at], header.game) for at, known in found.items()}

        def table_with(spec: BotSpec) -> tuple[BotSpec, ...]:
            table = [others[at].spec if at in others else spec for at in range(len(names))]
            return tuple(replace(each, seed=f"{self._seed}/{each.name}") for each in table)

        def seeds(name: str) -> tuple[str, ...]:
            of_tournament = [] if origin is None else [bot_seed(origin.seed, origin.stem, name)]
            return (*of_tournament, name, f"{self._seed}/{header.match}/{name}")

        known = [at for at, program in found.items() if program is not None]
        return Lineup(
            new=table_with(make_in_process_spec(names[seat], self._bot)),
            old=None if old is None else table_with(old.spec),
            old_description=None if old is None else old.description,
            others={at: program.description for at, program in others.items()},
            known=tuple(known if old is None else [*known, seat]),
            seeds=tuple(map(seeds, names)),
        )

    def check_games(self, games: Mapping[str, str]) -> None:
        """Raise `UsageFault` if a bot of the command line cannot play one of the `games`. `games` maps each game to the
        id of a match of it, for the message.
        """
        for what in self._given:
            if what.partition(":")[0] not in known_bots():
                continue
            played = [game for game in games if _plays(what, game)]
            for game, match in games.items():
                if game not in played:
                    choice = f": add --game {' or --game '.join(played)}" if played else ""
                    raise UsageFault(f"{what} does not play {game}, as in {match}{choice}")

    def check_opponents(self, names: Collection[str]) -> None:
        """Raise `UsageFault` if a bot named by `opponents` is not among `names`, the bots of the matches."""
        there = set(map(fold_name, names))
        for name, what in self._named.items():
            if name not in there:
                raise UsageFault(f"--opponent {name}={what}: nobody is called so there: {', '.join(names)}")

    def _find_program(self, name: str, game: str, origin: TournamentOrigin | None, given: str | None) -> Program | None:
        """Return the program of a recorded bot; None if it is unavailable."""
        given = given or self._named.get(fold_name(name))
        if given is not None:
            return Program(make_in_process_spec(name, given), given)
        if origin is not None and fold_name(name) in map(fold_name, origin.arguments.hosted):
            return None  # its author's program
        known = [bot for bot in known_bots() if bot != PERSON_BOT]
        words = [] if origin is None or origin.arguments.afar else origin.arguments.bots
        for what in (split_bot_word(word)[1] for word in words if fold_name(bot_name_of(word)) == fold_name(name)):
            assert origin is not None
            if what.partition(":")[0] not in known:
                return None  # the program is a file or a command, which may have changed
            return _tournament_program(name, what, origin.arguments.settings)
        by_name = {**_LEVELLED_BOTS, **{bot: bot for bot in known}}.get(fold_name(name))
        if by_name is not None and _plays(by_name, game):
            return Program(make_in_process_spec(name, by_name), f"the reference bot {by_name}, by its name")
        return None

    def _find_stand_in(self, name: str, game: str) -> Program:
        order = reversed(DEFAULT_STAND_INS) if game in games_with("tree_search") else DEFAULT_STAND_INS
        what = self._stand_in or next((word for word in order if _plays(word, game)), None)
        if what is None:
            raise UsageFault(
                f"the program of {name} is unknown: give its program, --opponent {name}=FILE.py, or a --stand-in BOT"
            )
        return Program(make_in_process_spec(name, what), f"{what}, as a stand-in")


def _tournament_program(name: str, what: str, defaults: Mapping[str, str]) -> Program:
    """Return a reference bot with the settings that its tournament gave to all bots."""
    taken = [f"--set {key}={value}" for key, value in defaults.items() if key in _class_of(what).settings]
    told = f"{what} ({' '.join(taken)})" if taken else what
    return Program(make_in_process_spec(name, what, defaults), f"{told}, as its tournament had it")


def _plays(what: str, game: str) -> bool:
    return game in _class_of(what).games


def _class_of(what: str) -> Any:
    (point,) = entry_points(group=REFERENCE_BOTS, name=what.partition(":")[0])
    return point.load()
