"""The rules: `OpenSpielGame` and its two forms, games in turns and games in rounds.

A state is the history of all that happened, beside OpenSpiel's own state, its *node*. An action is OpenSpiel's number.
Chance is drawn by the committed dice. In a game with hidden information, a seat sees of a state its information state,
as text. It sees none of the others' moves: OpenSpiel does not say which are public, but the information state does.
In some of these games, a view also has the history of a state that fits it, drawn at random, so that searches can play.
"""

from __future__ import annotations

import hashlib
import textwrap
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar

import pyspiel

from bot_arena_openspiel.chance import draw, weights_of
from bot_arena_openspiel.settings import settings_of
from protocol.dice import Dice
from protocol.display import escape_unprintable, list_first, short_repr
from protocol.errors import BadConfig, MalformedMove
from protocol.games.base import PROBABILITY_ONE, Game
from protocol.games.parsing import parse_integer, parse_whole_number, raise_illegal, read_config, read_move_fields
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE, Event

MAX_NODES = 256
"""Number of nodes that are kept beside their histories, for calls that only have the history."""
MAX_BOARD_COLUMNS = 80
"""Maximum width of a drawn board in columns."""
MAX_ACTION_CHARS = 100
"""Maximum number of characters of the name of an action."""
MAX_REASON_CHARS = 60
"""Maximum number of characters of OpenSpiel's own reason for refusing a config."""
OPENING_KEY = "opening"
"""The config key with the number of the outcome of the first chance event; null if the dice decide."""
SPECTATOR_VIEW = "The hands and moves of this game are hidden until it is over."
"""The view that spectators get of a state with hidden information."""
MOVE_EXAMPLE = '{"action": 0}'
"""A move as messages carry it."""

GUESSED_GAMES = frozenset(
    {"bargaining", "colored_trails", "kuhn_poker", "leduc_poker", "oh_hell", "universal_poker"},
)
"""The games with hidden information for which OpenSpiel can redraw what a seat does not see. It does so for some
others, but slowly, or by histories that the rules do not allow.
"""
FLOAT_STEPS = 65536
"""Number of random fractions among which OpenSpiel gets one."""

Action = int | tuple[int, ...]
"""The event of a ply: the action of a seat or of chance, or those of all seats."""


@dataclass(frozen=True, slots=True)
class SpielState:
    """A state, or a view of it."""

    history: str | None
    """The actions so far, with spaces between them; those of a round with commas between them. None in a view."""
    plies: int
    left: tuple[int, ...] = ()
    """The seats that left the match, in order."""
    view: str | None = None
    """The text that a seat sees, in a view."""
    movers: tuple[int, ...] | int | None = None
    """The seats to move, as messages have them, in a view."""
    guess: str | None = None
    """The history of a state that the seat to move can't tell from the true one, in its view."""
    node: Any = field(default=None, compare=False, repr=False)
    """OpenSpiel's state; in a view, that after `guess`, or None. It is never changed."""


class OpenSpielGame(Game[SpielState, int]):
    """A game of OpenSpiel, in turns or in rounds."""

    short_name: ClassVar[str]
    """OpenSpiel's name of the game."""
    parameters: ClassVar[Mapping[str, Any]]
    """OpenSpiel's parameters of the game, with their defaults."""
    has_guesses: ClassVar[bool] = False
    """True if the views of seats have a guess."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"classic": {}}
    preset_titles: ClassVar[Mapping[str, str]] = {"classic": "classic"}
    draw_probability = 0.1
    move_syntax = "0, the number of an action"

    def __init__(self, config: Mapping[str, Any]) -> None:
        settings = settings_of(self.short_name, self.parameters)
        defaults = {key: setting.default for key, setting in settings.items()}
        self.config = _read_config(type(self), config, {**defaults, OPENING_KEY: None})
        opening = self.config.pop(OPENING_KEY)
        values = {key: settings[key].parse(self.name, key, value) for key, value in self.config.items()}
        given = {key: value for key, value in values.items() if value != self.parameters[key]}
        if self.parameters.get("ansi_color_output"):
            given["ansi_color_output"] = False
        try:
            self.spiel_game = _load_game(self.short_name, tuple(given.items()))
            first_node = self.spiel_game.new_initial_state()
        except (pyspiel.SpielError, ValueError, IndexError) as exc:
            reason = " ".join(str(exc).split())[-MAX_REASON_CHARS:]
            raise BadConfig(
                f"{self.name}: OpenSpiel refuses {short_repr(given)}: {escape_unprintable(reason)}"
            ) from exc
        kind = self.spiel_game.get_type()
        self.seats = self.spiel_game.num_players()
        if not 2 <= self.seats <= self.max_seats:
            raise BadConfig(f"{self.name}: a config has {self.seats} seats: 2 to {self.max_seats} are possible")
        if first_node.is_terminal() or not first_node.legal_actions():
            raise BadConfig(f"{self.name}: {short_repr(given)} makes a game without a move")
        self.hidden = kind.information == pyspiel.GameType.Information.IMPERFECT_INFORMATION
        self.zero_sum = kind.utility in (pyspiel.GameType.Utility.ZERO_SUM, pyspiel.GameType.Utility.CONSTANT_SUM)
        self._has_information_states = kind.provides_information_state_string
        self._nodes: dict[str, Any] = {}
        self._first = SpielState("", 0, node=first_node)
        self._begin = self._first
        self._opening = None
        if first_node.is_chance_node() and not self.hidden:
            if opening is not None:
                actions, _ = self._chances(self._first)
                self._opening = parse_integer(self.name, OPENING_KEY, opening, 0, len(actions) - 1)
                node = first_node.clone()
                node.apply_action(actions[opening])
                self._begin = SpielState("", 0, node=node)
            self.config[OPENING_KEY] = self._opening
        elif opening is not None:
            raise BadConfig(f"{self.name}: {OPENING_KEY} must be left out: no open chance event begins the game")

    def __reduce__(self) -> Any:
        from protocol.games import load_game

        return load_game, (self.name, self.config)

    # The course of the game.

    @abstractmethod
    def _to_move_on_wire(self, state: SpielState) -> int | list[int] | None:
        """Return who is to move, as messages say it."""

    def initial(self, dice: Dice) -> tuple[SpielState, Event | None]:
        return self.apply_chance(self._begin, dice) if self._begin_is_dealt else (self._begin, None)

    @property
    def _begin_is_dealt(self) -> bool:
        return self._opening is None and bool(self._first.node.is_chance_node())

    def state_before_deal(self) -> SpielState | None:
        return self._first if self._begin_is_dealt else None

    def config_of_deal(self, dice: Dice) -> Mapping[str, Any]:
        if self.config.get(OPENING_KEY, 0) is not None:
            return self.config
        return {**self.config, OPENING_KEY: draw(dice, self._chances(self._first)[1])}

    def ply(self, state: SpielState) -> int:
        return state.plies

    def key(self, state: SpielState) -> Hashable:
        return state.history, state.left

    def _after(self, state: SpielState, action: Action) -> SpielState:
        node = state.node.clone()
        if isinstance(action, tuple):
            node.apply_actions(list(action))
            word = ",".join(map(str, action))
        else:
            node.apply_action(action)
            word = str(action)
        history = f"{state.history} {word}" if state.history else word
        self._keep(history, node)
        return SpielState(history, state.plies + 1, state.left, node=node)

    def _chances(self, state: SpielState) -> tuple[Sequence[Action], Sequence[int]]:
        """Return what chance can do, and the weights. Where all seats to move have left, it is any of their moves."""
        node = state.node
        if node.is_chance_node():
            actions, probabilities = zip(*(each for each in node.chance_outcomes() if each[1] > 0), strict=True)
            return actions, weights_of(probabilities)
        if node.is_simultaneous_node():
            joint = list(product(*(node.legal_actions(seat) or (0,) for seat in range(self.seats))))
            return joint, (1,) * len(joint)
        actions = node.legal_actions()
        return actions, (1,) * len(actions)

    def apply_chance(self, state: SpielState, dice: Dice) -> tuple[SpielState, Event]:
        actions, weights = self._chances(state)
        drawn = draw(dice, weights)
        among: Any = len(weights) if len(set(weights)) == 1 else list(weights)
        after = self._after(state, actions[drawn])
        move, result = {"outcome": drawn, "of": among}, {"text": self._name_action(state.node, actions[drawn])}
        return after, Event(ply=state.plies, seat=CHANCE, move=move, result=result)

    def chance_outcomes(self, state: SpielState) -> Sequence[tuple[Fraction, SpielState]]:
        actions, weights = self._chances(state)
        total = sum(weights)
        return [
            (Fraction(weight, total), self._after(state, action))
            for action, weight in zip(actions, weights, strict=True)
        ]

    def _name_action(self, node: Any, action: Action) -> str:
        """Return OpenSpiel's name of an action of the player to move, or of those of all players."""
        if isinstance(action, tuple):
            moving = [seat for seat in range(self.seats) if node.legal_actions(seat)]
            return ", ".join(self._name_move(node, seat, action[seat]) for seat in moving)
        return self._name_move(node, node.current_player(), action)

    def _name_move(self, node: Any, seat: int, move: int) -> str:
        return escape_unprintable(" ".join(node.action_to_string(seat, move).split()))[:MAX_ACTION_CHARS]

    def remove_seat(self, state: SpielState, seat: int) -> SpielState:
        return SpielState(state.history, state.plies, (*state.left, seat), node=state.node)

    # The result.

    def ranks(self, state: SpielState) -> tuple[int, ...]:
        paid = self.returns(state) or tuple(state.node.returns())
        own = paid if state.node.is_terminal() else (0,) * self.seats
        staying = [own[seat] for seat in range(self.seats) if seat not in state.left]
        behind = {seat: self.seats - at for at, seat in enumerate(state.left)}
        return tuple(behind.get(seat) or 1 + sum(other > own[seat] for other in staying) for seat in range(self.seats))

    def returns(self, state: SpielState) -> tuple[int, ...] | None:
        if not self.payoff_unit:
            return None
        return tuple(map(round, state.node.returns())) if state.node.is_terminal() else (0,) * self.seats

    def count_rounds(self, state: SpielState) -> tuple[int, int]:
        return (1, 0) if state.node.is_terminal() else (0, 1)

    @property
    def least_payoffs(self) -> tuple[int, ...]:
        return (round(self.spiel_game.min_utility()),) * self.seats

    # What a seat may see.

    def view(self, wire: dict[str, Any], seat: int | None) -> dict[str, Any]:
        if not self.hidden or wire["history"] is None:
            return wire
        node = self._node_of(wire["history"])
        seen = {**wire, "history": None, "view": self._seen(node, seat)}
        return {**seen, "guess": self._guess(node, seat)} if self.has_guesses else seen

    def _guess(self, node: Any, seat: int | None) -> str | None:
        """Return the history of a state that the seat to move can't tell from a node; None for others. The same view
        always gets the same guess, so a guess tells nothing that the view does not.
        """
        if seat is None or node.current_player() != seat:
            return None
        key = hashlib.sha256(f"{seat} {self._seen(node, seat)}".encode()).digest()
        drawn = Dice(key, 0).choices("guess", [FLOAT_STEPS])
        return _history_of(node.resample_from_infostate(seat, lambda: next(drawn)[0] / FLOAT_STEPS))

    def sample_state(self, state: SpielState, seat: int, draw_below: Callable[[int], int]) -> SpielState:
        node = state.node.resample_from_infostate(seat, lambda: draw_below(FLOAT_STEPS) / FLOAT_STEPS)
        return SpielState(_history_of(node), state.plies, state.left, node=node)

    def _seen(self, node: Any, seat: int | None) -> str:
        """Return what a seat, or a spectator (None), sees of a state with hidden information."""
        if seat is None:
            return SPECTATOR_VIEW
        try:
            text = (
                node.information_state_string(seat) if self._has_information_states else node.observation_string(seat)
            )
        except pyspiel.SpielError:  # some games have no view of some chance events
            return ""
        return str(text)

    def view_event(self, event: Event, seat: int | None) -> Event:
        if not self.hidden or event.out is not None or event.seat == seat:
            return event
        if event.moves is not None:
            moves = [move if at == seat or move is None else {"action": None} for at, move in enumerate(event.moves)]
            return Event(ply=event.ply, seat=event.seat, moves=moves)
        move = {"outcome": None, "of": None} if event.seat == CHANCE else {"action": None}
        return Event(ply=event.ply, seat=event.seat, move=move)

    def information_set(self, state: SpielState, seat: int) -> Hashable:
        return (self._seen(state.node, seat), state.left) if self.hidden else self.key(state)

    # How states and moves travel.

    def encode_state(self, state: SpielState) -> dict[str, Any]:
        wire = {
            "history": state.history,
            "view": state.view,
            "to_move": self._to_move_on_wire(state),
            "ply": state.plies,
        }
        if self.has_guesses:
            wire["guess"] = state.guess
        return {**wire, "left": list(state.left)} if self.seats > 2 else wire

    def decode_state(self, wire: Mapping[str, Any]) -> SpielState:
        history, plies, view = wire["history"], wire["ply"], wire["view"]
        left = tuple(wire["left"]) if self.seats > 2 else ()
        if type(plies) is not int:
            raise TypeError(f"ply is {short_repr(plies)}: it is an integer")
        if history is None:
            to_move = wire["to_move"]
            movers = tuple(to_move) if isinstance(to_move, list) else to_move
            guess = wire["guess"] if self.has_guesses else None
            node = None if guess is None else self._node_of(guess)
            return SpielState(None, plies, left, str(view), movers, guess, node)
        return SpielState(history, plies, left, node=self._node_of(history))

    def _node_of(self, history: str) -> Any:
        """Return the node after a history. Raise `ValueError` if it is none of this game: histories come from clients,
        too, and OpenSpiel may end the process at an action that is not legal.
        """
        if not history:
            return self._begin.node
        known = self._nodes.get(history)
        if known is not None:
            return known
        before, _, word = history.rpartition(" ")
        node, words = (self._nodes.get(before), [word]) if before else (None, [word])
        if node is None:
            node, words = self._begin.node, history.split(" ")
        node = node.clone()
        for number, each in enumerate(words):
            try:
                self._apply_word(node, each)
            except ValueError as exc:
                raise ValueError(f"{short_repr(each)} at {number} of the history can't be played") from exc
        self._keep(history, node)
        return node

    def _apply_word(self, node: Any, word: str) -> None:
        """Apply an action, or those of a round, to a node. Raise `ValueError` if they are not legal."""
        actions = list(map(int, word.split(",")))
        if not node.is_simultaneous_node():
            (action,) = actions
            if action not in node.legal_actions():
                raise ValueError(f"{action} is not legal")
            node.apply_action(action)
            return
        for seat, action in zip(range(self.seats), actions, strict=True):
            if action not in (node.legal_actions(seat) or (0,)):
                raise ValueError(f"{action} is not legal for seat {seat}")
        node.apply_actions(actions)

    def _keep(self, history: str, node: Any) -> None:
        if len(self._nodes) >= MAX_NODES:
            self._nodes.clear()
        self._nodes[history] = node

    def encode_move(self, move: int) -> dict[str, Any]:
        return {"action": int(move)}

    def decode_move(self, wire: Any) -> int:
        if type(wire) is dict and wire.keys() == {"action", "name"} and isinstance(wire["name"], str):
            return NamedAction(read_move_fields({"action": wire["action"]}, MOVE_EXAMPLE, "action")[0], wire["name"])
        return read_move_fields(wire, MOVE_EXAMPLE, "action")[0]

    def legal_moves_for_turn(self, state: SpielState) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """Return the legal moves with their names. A bot may send a move with its name or without."""
        seat = self.to_move(state)
        assert seat is not None
        return self._name_moves(state.node, seat, self.legal_moves(state)), None

    def _name_moves(self, node: Any, seat: int, moves: Sequence[int]) -> list[dict[str, Any]]:
        return [{"action": move, "name": self._name_move(node, seat, move)} for move in moves]

    # How states and moves are shown.

    def draw_board(self, state: SpielState) -> str:
        text = state.view if state.history is None else str(state.node)
        lines = (text or "").expandtabs().splitlines()
        wrapped = [
            part for line in lines for part in textwrap.wrap(line, MAX_BOARD_COLUMNS, drop_whitespace=False) or [""]
        ]
        return "\n".join(wrapped) if any(map(str.strip, wrapped)) else "(nothing to see)"

    def notation(self, move: int) -> str:
        return f"{move:d} {move.name}" if isinstance(move, NamedAction) else str(move)

    def parse_move(self, text: str) -> int:
        number = parse_whole_number(text.split()[0]) if text.strip() else None
        if number is None:
            raise MalformedMove(f"{short_repr(text)} is not a move here: write it like {self.move_syntax}")
        return number

    def describe_event(self, event: Event) -> str:
        return str((event.result or {}).get("text", ""))

    def _refuse(self, state: SpielState, seat: int, move: int) -> None:
        """Raise `IllegalMove` if a seat may not make a move."""
        legal = state.node.legal_actions(seat)
        if move not in legal:
            raise_illegal(
                f"{short_repr(int(move), 20)} is not a legal action now: one of {list_first(map(str, legal))}"
            )


class NamedAction(int):
    """An action with its name, as the list of legal moves has it. It is equal to the number alone."""

    name: str

    def __new__(cls, action: int, name: str) -> NamedAction:
        made = super().__new__(cls, action)
        made.name = name
        return made


class OpenSpielTurns(OpenSpielGame):
    """A game of OpenSpiel in which one seat moves at a time."""

    def to_move(self, state: SpielState) -> int | None:
        node = state.node
        if node is None:
            assert not isinstance(state.movers, tuple)
            return state.movers
        if node.is_terminal():
            return None
        seat: int = node.current_player()
        return CHANCE if node.is_chance_node() or seat in state.left else seat

    def _to_move_on_wire(self, state: SpielState) -> int | None:
        return self.to_move(state)

    def legal_moves(self, state: SpielState) -> Sequence[int]:
        legal: Sequence[int] = () if self.to_move(state) in (None, CHANCE) else state.node.legal_actions()
        return legal

    def apply(self, state: SpielState, move: int, dice: Dice) -> tuple[SpielState, Event]:
        seat = self.to_move(state)
        if seat is None or seat == CHANCE:
            raise_illegal("the game is over" if seat is None else "chance comes next: no seat is to move")
        self._refuse(state, seat, move)
        result = {"text": self._name_move(state.node, seat, move)}
        event = Event(ply=state.plies, seat=seat, move=self.encode_move(move), result=result)
        return self._after(state, int(move)), event

    def outcomes(self, state: SpielState, move: int) -> Sequence[tuple[Fraction, SpielState]]:
        return ((PROBABILITY_ONE, self._after(state, move)),)


class OpenSpielRounds(OpenSpielGame, SimultaneousGame[SpielState, int]):
    """A game of OpenSpiel in which several seats move at once. In some, single seats also move alone: that is a round
    of one seat.
    """

    def movers(self, state: SpielState) -> tuple[int, ...]:
        node = state.node
        if node is None:
            return state.movers if isinstance(state.movers, tuple) else ()
        if node.is_terminal() or node.is_chance_node():
            return ()
        seats = range(self.seats) if node.is_simultaneous_node() else (node.current_player(),)
        return tuple(seat for seat in seats if seat not in state.left and node.legal_actions(seat))

    def to_move(self, state: SpielState) -> int | None:
        movers = self.movers(state)
        if movers:
            return movers[0]
        if state.node is None:
            return None if state.movers is None else CHANCE
        return None if state.node.is_terminal() else CHANCE

    def _to_move_on_wire(self, state: SpielState) -> int | list[int] | None:
        return list(self.movers(state)) or self.to_move(state)

    def legal_moves(self, state: SpielState) -> Sequence[int]:
        movers = self.movers(state)
        return self.legal_moves_of(state, movers[0]) if movers else ()

    def legal_moves_of(self, state: SpielState, seat: int) -> Sequence[int]:
        legal: Sequence[int] = state.node.legal_actions(seat)
        return legal

    def check_move(self, state: SpielState, seat: int, move: int) -> None:
        self._refuse(state, seat, move)

    def resolve_round(self, state: SpielState, moves: Mapping[int, int], dice: Dice) -> tuple[SpielState, Event]:
        node = state.node
        if node.is_simultaneous_node():
            options = self._joint_options(node, moves)
            action: Action = tuple(
                legal[dice.choice(f"seat {seat}", len(legal))] if len(legal) > 1 else legal[0]
                for seat, legal in enumerate(options)
            )
        else:
            action = int(moves[node.current_player()])
        result = {"text": self._name_action(node, action)}
        event = Event(ply=state.plies, seat=CHANCE, moves=self.encode_moves(moves), result=result)
        return self._after(state, action), event

    def _joint_options(self, node: Any, moves: Mapping[int, int]) -> list[Sequence[int]]:
        """Return the actions that each seat may make in a round with these moves. A seat that left may make any; one
        that has none gets 0, which OpenSpiel ignores.
        """
        return [
            (int(moves[seat]),) if seat in moves else node.legal_actions(seat) or (0,) for seat in range(self.seats)
        ]

    def round_outcomes(self, state: SpielState, moves: Mapping[int, int]) -> Sequence[tuple[Fraction, SpielState]]:
        node = state.node
        if not node.is_simultaneous_node():
            return ((PROBABILITY_ONE, self._after(state, int(moves[node.current_player()]))),)
        joint = list(product(*self._joint_options(node, moves)))
        return [(Fraction(1, len(joint)), self._after(state, action)) for action in joint]


def _history_of(node: Any) -> str:
    """Return the history of a node of a game in turns."""
    return " ".join(map(str, node.history()))


@lru_cache(256)
def _load_game(short_name: str, parameters: tuple[tuple[str, Any], ...]) -> Any:
    """Return OpenSpiel's game, which never changes. OpenSpiel warns about some games whenever it loads them."""
    return pyspiel.load_game(short_name, dict(parameters))


def _read_config(game: type[OpenSpielGame], config: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config with all keys, as `read_config` does. Games may have more keys than a refusal can list."""
    unknown = [key for key in config if key not in defaults and key != "preset"]
    if unknown:
        keys = ", ".join((*defaults, "preset"))
        shown = keys if len(keys) <= MAX_REASON_CHARS else f"{keys[:MAX_REASON_CHARS]}…"
        raise BadConfig(f"{game.name} has no config key {short_repr(unknown[0])}: it has {shown}")
    return read_config(game, config, defaults)
