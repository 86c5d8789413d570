"""The prisoner's dilemma and other games of two seats that choose at once: payoffs from a matrix, over many rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal, Inexact, InvalidOperation
from fractions import Fraction
from itertools import chain
from typing import Any, ClassVar, NamedTuple

from msgspec.structs import replace

from protocol.dice import Dice
from protocol.display import list_choices, short_repr
from protocol.errors import BadConfig, IllegalMove, MalformedMove
from protocol.games.parsing import parse_integer, read_config, read_move_fields
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE, Event

MIN_CHOICES, MAX_CHOICES = 2, 5
"""`MIN_CHOICES` and `MAX_CHOICES` limit the number of choices of a seat."""
MAX_ROUNDS = 10_000
"""Maximum number of rounds of a match."""
MAX_PAYOFF = 1_000_000
"""Maximum absolute value of a payoff."""
CHANCE_DENOMINATOR = 10_000
"""The chances in a config are stored as whole multiples of 1 / CHANCE_DENOMINATOR."""
_EXACT_ARITHMETIC = Context(traps=[InvalidOperation, Inexact])
"""A context for decimal arithmetic that raises an exception instead of rounding."""
MAX_CHOICE_NAME_CHARS = 20
"""Maximum characters in the name of a choice."""

COOPERATE_OR_DEFECT = ("cooperate", "defect")
"""The names of the choices of a seat that may cooperate or defect."""
_PRISONERS_CHOICES = [["silent", "confess"]] * 2
"""The names of both seats' choices in the preset `prison`."""
_AXELROD_CHOICES = [list(COOPERATE_OR_DEFECT)] * 2
"""The names of both seats' choices in the presets that follow Axelrod's tournaments."""
_AXELROD_PAYOFFS = [[[3, 3], [0, 5]], [[5, 0], [1, 1]]]
"""The payoffs of both seats in the presets that follow Axelrod's tournaments, by the choices of both seats."""


class DilemmaState(NamedTuple):
    """A state of the dilemma: the number of rounds played, the payoffs so far, the choices in the last round, and
    whether the match is over.
    """

    at: int
    payoffs: tuple[int, int]
    last: tuple[int, int] | None
    over: bool


class Dilemma(SimultaneousGame[DilemmaState, int]):
    """A repeated game of two seats. A move is the index of a choice. The seat with the higher total is ahead. Config:

    - `payoffs`: by choice of seat 0, then of seat 1, both seats' payoffs.
    - `choices`: the choices' names, by seat.
    - `rounds`: the maximum number of rounds.
    - `go_on`: the chance of another round after each; null: all rounds are played.
    - `noise`: the chance that a choice is changed to another.
    """

    name = "dilemma"
    title = "Dilemma"
    about = "Two players choose at once, round after round: cooperate or defect."
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "axelrod": {"payoffs": _AXELROD_PAYOFFS, "choices": _AXELROD_CHOICES, "rounds": 200},
        "open-end": {"payoffs": _AXELROD_PAYOFFS, "choices": _AXELROD_CHOICES, "rounds": 2000, "go_on": "0.995"},
        "prison": {
            "payoffs": [[[-2, -2], [-10, 0]], [[0, -10], [-5, -5]]],
            "choices": _PRISONERS_CHOICES,
            "rounds": 100,
        },
        "rock-paper-scissors": {
            "payoffs": [[[0, 0], [-1, 1], [1, -1]], [[1, -1], [0, 0], [-1, 1]], [[-1, 1], [1, -1], [0, 0]]],
            "choices": [["rock", "paper", "scissors"]] * 2,
            "rounds": 100,
        },
        "stag-hunt": {
            "payoffs": [[[4, 4], [0, 3]], [[3, 0], [3, 3]]],
            "choices": [["stag", "hare"]] * 2,
            "rounds": 100,
        },
        "chicken": {
            "payoffs": [[[0, 0], [-1, 1]], [[1, -1], [-10, -10]]],
            "choices": [["swerve", "straight"]] * 2,
            "rounds": 100,
        },
        "short": {"payoffs": _AXELROD_PAYOFFS, "choices": _AXELROD_CHOICES, "rounds": 10},
    }
    preset_for_people = "short"
    preset_titles: ClassVar[Mapping[str, str]] = {
        "axelrod": "200 rounds",
        "open-end": "without a known end",
        "prison": "years in prison",
        "rock-paper-scissors": "rock, paper, scissors",
        "stag-hunt": "stag hunt",
        "chicken": "chicken",
        "short": "10 rounds",
    }
    draw_probability = 0.3
    payoff_unit = "round"
    move_syntax = "cooperate, or coop: a choice, or the beginning of its name"

    def __init__(self, config: Mapping[str, Any]) -> None:
        defaults = {"payoffs": _AXELROD_PAYOFFS, "choices": None, "rounds": 200, "go_on": None, "noise": "0"}
        given = read_config(Dilemma, config, defaults)
        self.payoffs = _parse_payoffs(given["payoffs"])
        counts = len(self.payoffs), len(self.payoffs[0])
        self.choices = (
            _default_names(self.payoffs) if given["choices"] is None else _parse_names(given["choices"], counts)
        )
        first, others = self.choices[0][0], self.choices[1][0]
        self._move_form = '{"choose": 0}' + (f" for {first}" if first == others else "")
        self.rounds = parse_integer("dilemma", "rounds", given["rounds"], 1, MAX_ROUNDS)
        self.go_on = None if given["go_on"] is None else _parse_chance("go_on", given["go_on"], CHANCE_DENOMINATOR - 1)
        self.noise = _parse_chance("noise", given["noise"], CHANCE_DENOMINATOR // 2)
        self.hidden = self.noise > 0
        self.zero_sum = len({sum(pair) for row in self.payoffs for pair in row}) == 1
        self.config = {
            "payoffs": [[list(pair) for pair in row] for row in self.payoffs],
            "choices": [list(names) for names in self.choices],
            "rounds": self.rounds,
            "go_on": None if self.go_on is None else _format_chance(self.go_on),
            "noise": _format_chance(self.noise),
        }

    def initial(self, dice: Dice) -> tuple[DilemmaState, None]:
        return DilemmaState(0, (0, 0), None, over=False), None

    def movers(self, state: DilemmaState) -> tuple[int, ...]:
        return () if state.over else (0, 1)

    def ply(self, state: DilemmaState) -> int:
        return state.at

    def key(self, state: DilemmaState) -> DilemmaState:
        return state

    def legal_moves_of(self, state: DilemmaState, seat: int) -> range:
        return range(len(self.choices[seat]))

    def check_move(self, state: DilemmaState, seat: int, move: int) -> None:
        if not 0 <= move < len(self.choices[seat]):
            named = ", ".join(f"{at} {name}" for at, name in enumerate(self.choices[seat]))
            raise IllegalMove(f"there is no choice {move}: {named}")

    def resolve_round(self, state: DilemmaState, moves: Mapping[int, int], dice: Dice) -> tuple[DilemmaState, Event]:
        played = self._apply_noise(moves[0], 0, dice), self._apply_noise(moves[1], 1, dice)
        got = self.payoffs[played[0]][played[1]]
        last = state.at + 1 == self.rounds
        over = last or (self.go_on is not None and dice.choice("end", CHANCE_DENOMINATOR) >= self.go_on)
        result = {"payoffs": list(got), **({"played": list(played)} if self.noise else {})}
        event = Event(ply=state.at, seat=CHANCE, moves=self.encode_moves(moves), result=result)
        return self._after(state, played, over=over), event

    def _after(self, state: DilemmaState, played: tuple[int, int], *, over: bool) -> DilemmaState:
        one, two = self.payoffs[played[0]][played[1]]
        return DilemmaState(state.at + 1, (state.payoffs[0] + one, state.payoffs[1] + two), played, over)

    def round_outcomes(self, state: DilemmaState, moves: Mapping[int, int]) -> list[tuple[Fraction, DilemmaState]]:
        goes_on = (
            Fraction(0)
            if state.at + 1 == self.rounds
            else Fraction(CHANCE_DENOMINATOR if self.go_on is None else self.go_on, CHANCE_DENOMINATOR)
        )
        return [
            (one * two * end, self._after(state, (first, second), over=over))
            for one, first in self._noise_outcomes(moves[0], 0)
            for two, second in self._noise_outcomes(moves[1], 1)
            for end, over in ((goes_on, False), (1 - goes_on, True))
            if end
        ]

    def _noise_outcomes(self, choice: int, seat: int) -> list[tuple[Fraction, int]]:
        """Return each choice that may be played instead of a seat's choice, because of noise, with its probability."""
        noise, others = Fraction(self.noise, CHANCE_DENOMINATOR), len(self.choices[seat]) - 1
        changed = [(noise / others, other) for other in range(others + 1) if other != choice] if noise else []
        return [(1 - noise, choice), *changed]

    def _apply_noise(self, choice: int, seat: int, dice: Dice) -> int:
        """Return the choice that is played for a seat: its own choice, or another one if noise changes it."""
        purpose = f"noise-{seat}"
        if not self.noise or dice.choice(purpose, CHANCE_DENOMINATOR) >= self.noise:
            return choice
        other = dice.choice(purpose, len(self.choices[seat]) - 1)
        return other + (other >= choice)

    def returns(self, state: DilemmaState) -> tuple[int, int]:
        return state.payoffs

    def count_rounds(self, state: DilemmaState) -> tuple[int, int]:
        """Return the number of rounds played and the number of rounds to come. If chance ends the match (`go_on`), the
        latter is the expected number 1 / (1 − go_on), rounded half up, but at most the rest of `rounds`.
        """
        left = self.rounds - state.at
        if state.over:
            left = 0
        elif self.go_on is not None:
            ends = CHANCE_DENOMINATOR - self.go_on
            left = min(left, (2 * CHANCE_DENOMINATOR + ends) // (2 * ends))
        return state.at, left

    @property
    def least_payoffs(self) -> tuple[int, int]:
        one, two = (min(pair[seat] for row in self.payoffs for pair in row) for seat in range(2))
        return one, two

    def ranks(self, state: DilemmaState) -> tuple[int, ...]:
        one, two = state.payoffs
        return (1 + (one < two), 1 + (two < one))

    def view_event(self, event: Event, seat: int | None) -> Event:
        """Return the event as a seat may see it. In a game with noise it lacks the choices that the other seats sent,
        because a seat may only know the choices as played, after noise.
        """
        if event.moves is None or not self.noise:
            return event
        seen = [move if at == seat else None for at, move in enumerate(event.moves)]
        return replace(event, moves=seen)

    def encode_state(self, state: DilemmaState) -> dict[str, Any]:
        return {
            "payoffs": list(state.payoffs),
            "last": None if state.last is None else list(state.last),
            "to_move": None if state.over else [0, 1],
            "ply": state.at,
        }

    def decode_state(self, wire: Mapping[str, Any]) -> DilemmaState:
        one, two = wire["payoffs"]
        last = wire["last"]
        return DilemmaState(
            wire["ply"], (one, two), None if last is None else (last[0], last[1]), wire["to_move"] is None
        )

    def encode_move(self, move: int) -> dict[str, Any]:
        return {"choose": move}

    def decode_move(self, wire: Any) -> int:
        return read_move_fields(wire, self._move_form, "choose")[0]

    def draw_board(self, state: DilemmaState) -> str:
        of = f" of {self.rounds}" if self.go_on is None else ""
        one, two = state.payoffs
        last = "" if state.last is None else f"\nlast: {self._format_choices(state.last)}"
        return f"{state.at}{of} rounds played, payoffs {one} and {two}{last}"

    def notation(self, move: int) -> str:
        """Return the name of a choice if both seats' choices have the same names, else its number."""
        names = self.choices[0]
        return names[move] if self.choices[0] == self.choices[1] and move < len(names) else str(move)

    def parse_move(self, text: str) -> int:
        word = text.strip().casefold()
        if word.isdecimal() and len(word) <= MAX_CHOICE_NAME_CHARS:
            return int(word)
        named = [(move, name.casefold()) for names in self.choices for move, name in enumerate(names)]
        found = {move for move, name in named if name == word} or {
            move for move, name in named if name.startswith(word)
        }
        if not word or len(found) != 1:
            raise MalformedMove(
                f"{short_repr(text)} is not a move here: {list_choices(dict.fromkeys(chain(*self.choices)))}"
            )
        return found.pop()

    def describe_event(self, event: Event) -> str:
        result = event.result or {}
        played = f"played {self._format_choices(result['played'])}, " if "played" in result else ""
        one, two = result["payoffs"]
        return f"{played}payoffs {one} and {two}"

    def _format_choices(self, played: Sequence[int]) -> str:
        return " and ".join(names[choice] for names, choice in zip(self.choices, played, strict=True))


def _parse_payoffs(value: Any) -> tuple[tuple[tuple[int, int], ...], ...]:
    rows = _check_list("payoffs", value, "rows, one for each choice of seat 0")
    width = len(rows[0]) if isinstance(rows[0], (list, tuple)) else 0
    found = []
    for at, row in enumerate(rows):
        columns = _check_list(f"payoffs[{at}]", row, "pairs, one for each choice of seat 1")
        if len(columns) != width:
            raise BadConfig(
                f"dilemma: payoffs[{at}] has {len(columns)} pairs, "
                f"but payoffs[0] has {width}: all rows must have the same length"
            )
        pairs = []
        for column, pair in enumerate(columns):
            if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                raise BadConfig(
                    f"dilemma: payoffs[{at}][{column}] is {short_repr(pair)}: it must be two payoffs, like [3, 3]"
                )
            one, two = (
                parse_integer("dilemma", f"payoffs[{at}][{column}][{seat}]", payoff, -MAX_PAYOFF, MAX_PAYOFF)
                for seat, payoff in enumerate(pair)
            )
            pairs.append((one, two))
        found.append(tuple(pairs))
    return tuple(found)


def _check_list(key: str, value: Any, of: str) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)) or not MIN_CHOICES <= len(value) <= MAX_CHOICES:
        raise BadConfig(
            f"dilemma: {key} is {short_repr(value)}: it must be a list of {MIN_CHOICES} to {MAX_CHOICES} {of}"
        )
    return value


def is_prisoners_dilemma(payoffs: Sequence[Sequence[Sequence[int]]]) -> bool:
    """Return whether a 2 × 2 matrix is a prisoner's dilemma for both seats, with cooperation as the first choice:
    temptation > reward > punishment > sucker's payoff.
    """
    if len(payoffs) != 2 or len(payoffs[0]) != 2:
        return False
    (reward, left), (temptation, punishment) = ((pair[0] for pair in row) for row in payoffs)
    (reward_1, temptation_1), (left_1, punishment_1) = ((pair[1] for pair in row) for row in payoffs)
    return temptation > reward > punishment > left and temptation_1 > reward_1 > punishment_1 > left_1


def _default_names(payoffs: Sequence[Sequence[Sequence[int]]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if is_prisoners_dilemma(payoffs):
        return COOPERATE_OR_DEFECT, COOPERATE_OR_DEFECT
    return tuple("abcde"[: len(payoffs)]), tuple("abcde"[: len(payoffs[0])])


def _parse_names(value: Any, counts: tuple[int, int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise BadConfig(f"dilemma: choices is {short_repr(value)}: it must be two lists of names, one for each seat")
    found = []
    for seat, (names, count) in enumerate(zip(value, counts, strict=True)):
        fits = isinstance(names, (list, tuple)) and len(names) == count and all(map(_is_name, names))
        if not fits or len({name.casefold() for name in names}) != count:
            form = (
                f"{count} different names of 1 to {MAX_CHOICE_NAME_CHARS} printable characters, none of them a number"
            )
            raise BadConfig(f"dilemma: choices[{seat}] is {short_repr(names)}: it must be {form}")
        found.append(tuple(names))
    return found[0], found[1]


def _is_name(value: Any) -> bool:
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_CHOICE_NAME_CHARS:
        return False
    return value.isprintable() and value == value.strip() and not value.isdecimal()


def _parse_chance(key: str, value: Any, most: int) -> int:
    """Convert a chance, given as a number or a decimal string, to a whole number of units of 1 / CHANCE_DENOMINATOR.
    Raise `BadConfig` if it is invalid or greater than `most` of these units.
    """
    try:
        if type(value) not in (int, float, str):
            raise InvalidOperation
        parts = _EXACT_ARITHMETIC.multiply(Decimal(str(value)), Decimal(CHANCE_DENOMINATOR))
        if not (parts.is_finite() and parts == parts.to_integral_value() and 0 <= parts <= most):
            raise InvalidOperation
    except (InvalidOperation, Inexact, ValueError):  # `str` raises the last, for thousands of digits
        form = f"a chance from 0 to {_format_chance(most)} with up to four decimals, like 0.05"
        raise BadConfig(f"dilemma: {key} is {short_repr(value)}: it must be {form}") from None
    return int(parts)


def _format_chance(parts: int) -> str:
    """Format a chance, given in multiples of 1 / CHANCE_DENOMINATOR, as a decimal number. It is a text, because digests
    must not contain floats.
    """
    return f"{Decimal(parts) / CHANCE_DENOMINATOR:f}"
