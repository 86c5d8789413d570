"""The checks of the contract of a game, by random play. Tests of built-in games and `arena game check` share them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import msgpack
import msgspec

from protocol.codec import JSON, MSGPACK
from protocol.dice import Dice
from protocol.display import short_repr
from protocol.errors import BadConfig, Fault, IllegalMove, MalformedMove
from protocol.games.answer_checks import check_move_fits, check_ranks, check_returns
from protocol.games.base import PROBABILITY_ONE, Game
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE, MAX_SERVER_FRAME_BYTES, Turn
from protocol.reasons import DRAW, WIN
from referee.record import MAX_STATE_BYTES, encoded_size

R = TypeVar("R")

MAX_CLOSE_POSITIONS = 50
"""Number of positions at the start of a game of which all is checked. After that, one in as many is."""
MAX_CHECKED_MOVES = 50
"""Maximum number of legal moves of a position whose notation is read again."""
MAX_ILLEGAL_MOVES = 5
"""Maximum number of illegal moves that are tried in a position."""
MAX_BOARD_COLUMNS = 80
"""Maximum width of a drawn board in columns."""
MAX_REFUSAL_CHARS = 200
"""Maximum number of characters of a refusal."""
CHANGED_BY_MOVE_REASON = "a move changed the state before it: make a new state instead"
"""The reason why rules that change a state in place break the contract."""
CHANCE_ADVICE = ": only chance events are random, in chances"
"""The advice to an author whose rules draw random numbers of their own."""
DEFAULT_MAX_PLIES = 5000
"""Number of plies after which a random game counts as endless."""
LIMIT_KEYS: Mapping[str, str] = {"ply_limit": "max_plies", "round_limit": "max_rounds"}
"""Config keys by the reason for which a game ends at a limit. Only a game with this key ends for this reason."""


class ContractBroken(Fault):
    """A game breaks its contract. `method` is the method of `Game` that does, if one can be named."""

    def __init__(self, method: str, message: str) -> None:
        super().__init__(message)
        self.method = method


class Timings(NamedTuple):
    """The seconds that calls of the rules took, in the order of the calls."""

    legal_moves: list[float]
    apply: list[float]
    encode: list[float]


class RandomGame(NamedTuple):
    """A random game that kept the contract: its states, and how large they were on the wire."""

    states: list[Any]
    max_state_bytes: int
    max_legal_moves: int


class ContractChecker:
    """The checks of one game under one config. `check_game` raises `ContractBroken` at the first violation.

    In a game with hidden information, the moves of a seat must follow from what it saw. The checker compares all its
    games in this respect, so more games find more leaks.

    `clock` returns seconds. By it, calls of the rules are timed.
    """

    def __init__(
        self,
        game: Game[Any, Any],
        max_plies: int = DEFAULT_MAX_PLIES,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.game = game
        self._clock = clock
        self.timings = Timings([], [], [])
        self._max_plies = max_plies
        self._moves: dict[Any, None] = {}
        """Moves that were legal in some position."""
        self._hid_something = False
        self._chains: list[bytes] = []
        """The digest of what each seat saw in the current game."""
        self._options: dict[tuple[int, bytes], Any] = {}
        """The legal moves of a seat, or the seat to move if it is another, by seat and what it saw so far."""

    def check_game(self, seed: int) -> RandomGame:
        """Play one random game and check every position. Raise `ContractBroken`."""
        rng = random.Random(seed)  # noqa: S311  games for tests
        game, key = self.game, rng.randbytes(32)
        state, deal = game.initial(Dice(key, 0))
        is_same = game.initial(Dice(key, 0)) == (state, deal)
        _require(is_same, "initial", f"the first state is another one each time{CHANCE_ADVICE}")
        _require(game.ply(state) == (0 if deal is None else 1), "ply", "the first ply is 0, and 1 after a deal")
        states, max_bytes, max_moves = [state], 0, 0
        self._chains = [b""] * game.seats
        while (seat := game.to_move(state)) is not None:
            _require(
                len(states) <= self._max_plies, "to_move", f"a random game has not ended after {self._max_plies} plies"
            )
            ply = game.ply(state)
            if len(states) <= MAX_CLOSE_POSITIONS or len(states) % MAX_CLOSE_POSITIONS == 0:
                max_bytes = max(max_bytes, self._check_state(state))
                max_moves = max(max_moves, self._check_turn(state, rng))
            before = hash(state), game.encode_state(state)
            after = self._advance(state, seat, key, rng)
            _require((hash(state), game.encode_state(state)) == before, "apply", CHANGED_BY_MOVE_REASON)
            _require(game.ply(after) == ply + 1, "ply", f"ply is {game.ply(after)} after ply {ply}: it grows by 1")
            state = after
            states.append(state)
        max_bytes = max(max_bytes, self._check_state(state))
        _require(not game.legal_moves(state), "legal_moves", "the game is over, but there are legal moves")
        self._check_result(state)
        _require(len(set(states)) == len(states), "ply", "a state came twice in one game: the ply is part of a state")
        return RandomGame(states, max_bytes, max_moves)

    def check_hiding(self) -> None:
        """Check, after some games, that a game with hidden information has hidden something from somebody."""
        _require(self._hid_something or not self.game.hidden, "view", "hidden is True, but every seat sees everything")

    def check_refusals(self) -> None:
        """Check that configs and moves of a wrong form are refused, each in one short line."""
        game, rude = self.game, "\n\x1b[2J" + "x" * 3000
        for config in ({rude: 1}, {"preset": rude}, {"preset": 3}, {"no-such-key": 1}):
            _expect_refusal(BadConfig, "__init__", f"the config {short_repr(config)}", partial(type(game), config))
        for wire in (None, 3, "move", [], {}, rude, {rude: 1}, [rude] * 50):
            _expect_refusal(
                MalformedMove, "decode_move", f"the move {short_repr(wire)}", partial(game.decode_move, wire)
            )
        for text in ("", "?", "fly to the moon", "9" * 5000, rude):
            _expect_refusal(MalformedMove, "parse_move", f"the text {short_repr(text)}", partial(game.parse_move, text))
        _require(bool(game.move_syntax), "move_syntax", "it is empty: give an example of a move")

    def _advance(self, state: Any, seat: int, key: bytes, rng: random.Random) -> Any:
        """Return the state after the next event: a chance event, a round or a move, drawn at random. `key` is that of
        the dice.
        """
        game = self.game
        dice = Dice(key, game.ply(state))
        if seat == CHANCE:
            return self._after_chance(state, dice)
        if isinstance(game, SimultaneousGame):
            return self._after_round(game, state, key, rng)
        moves = self._timed("legal_moves", lambda: game.legal_moves(state))
        move = rng.choice([rng.choice(moves), game.sample_move(state, rng.randrange)])
        before = hash(state)
        after, event = self._timed("apply", lambda: game.apply(state, move, dice))
        _require(hash(state) == before, "apply", CHANGED_BY_MOVE_REASON)
        if event.ply < MAX_CLOSE_POSITIONS:
            again = game.apply(state, move, Dice(key, event.ply))
            _require(again == (after, event), "apply", f"a move leads to another state each time{CHANCE_ADVICE}")
        _require(
            (event.ply, event.seat, event.move) == (game.ply(state), seat, game.encode_move(move)),
            "apply",
            "the event has another ply, seat or move than the one that was played",
        )
        return after

    def _after_chance(self, state: Any, dice: Dice) -> Any:
        game = self.game
        _require(not game.legal_moves(state), "legal_moves", "there are legal moves where chance comes next")
        outcomes = game.chance_outcomes(state)
        total = sum(probability for probability, _ in outcomes)
        _require(total == PROBABILITY_ONE, "chance_outcomes", f"the probabilities sum to {total}, not to 1")
        after, event = game.apply_chance(state, dice)
        _require(
            (event.ply, event.seat) == (game.ply(state), CHANCE), "apply_chance", "the event has another ply or a seat"
        )
        _require(
            after in [outcome for _, outcome in outcomes],
            "apply_chance",
            "the state after chance is none of chance_outcomes",
        )
        return after

    def _after_round(self, game: SimultaneousGame[Any, Any], state: Any, key: bytes, rng: random.Random) -> Any:
        ply = game.ply(state)
        movers = game.movers(state)
        _require(list(movers) == sorted(set(movers)), "movers", f"the seats {list(movers)} are not in ascending order")
        moves = {seat: rng.choice(game.legal_moves_of(state, seat)) for seat in movers}
        for seat, move in moves.items():
            game.check_move(state, seat, move)
            self._check_written(move)
        after, event = self._timed("apply", lambda: game.resolve_round(state, moves, Dice(key, ply)))
        again = game.resolve_round(state, dict(reversed(moves.items())), Dice(key, ply))
        _require(again == (after, event), "resolve_round", "the result depends on the order of the moves")
        _require(
            (event.ply, event.seat, event.moves) == (ply, CHANCE, game.encode_moves(moves)),
            "resolve_round",
            "the event has another ply or other moves than those that were played, or a seat",
        )
        return after

    def _timed(self, kind: str, call: Callable[[], R]) -> R:
        began = self._clock()
        value = call()
        getattr(self.timings, kind).append(self._clock() - began)
        return value

    def _check_state(self, state: Any) -> int:
        """Check a state, its wire form, its views and its drawing. Return the bytes of the wire form."""
        game = self.game
        with _as_broken(
            "encode_state",
            TypeError,
            "a state holds what can't be hashed or sent (tuples can, lists can't)",
        ):
            hash(state)
            wire = self._timed("encode", lambda: game.encode_state(state))
            packed = msgpack.packb(wire)
        _require(
            not _has_fraction(wire),
            "encode_state",
            f"a state has a number that is not whole: {short_repr(wire, 100)}; digests cover whole numbers only",
        )
        size = encoded_size(wire)
        _require(
            size <= MAX_STATE_BYTES,
            "encode_state",
            f"a state takes {size:,} bytes: at most {MAX_STATE_BYTES:,} fit in a record",
        )
        _require(wire["ply"] == game.ply(state), "encode_state", "ply is not that of the state")
        to_move: Any = game.to_move(state)
        if isinstance(game, SimultaneousGame) and to_move != CHANCE:
            to_move = list(game.movers(state)) or None
        _require(wire["to_move"] == to_move, "encode_state", f"to_move is {wire['to_move']}, not {to_move}")
        for travelled in (msgpack.unpackb(packed), msgspec.json.decode(msgspec.json.encode(wire))):
            with _as_broken("decode_state", (KeyError, TypeError, ValueError), "an encoded state can't be read again"):
                again = game.decode_state(travelled)
            _require(
                again == state, "decode_state", f"a state is another one after it travelled: {short_repr(again, 100)}"
            )
        self._check_views(state, wire)
        self._check_board(game.draw_board(state))
        return len(packed)

    def _check_board(self, board: str) -> None:
        widest = max(map(len, board.splitlines()), default=0)
        _require(widest > 0, "draw_board", "the drawing is empty")
        _require(widest <= MAX_BOARD_COLUMNS, "draw_board", f"a line has {widest} columns: at most {MAX_BOARD_COLUMNS}")

    def _check_views(self, state: Any, wire: dict[str, Any]) -> None:
        """Check what each seat and a spectator are shown of a state."""
        game = self.game
        before = msgpack.packb(wire)
        for seat in (*range(game.seats), None):
            with _as_broken("view", (KeyError, TypeError, ValueError), f"the view of {_seat_name(seat)} can't be made"):
                seen = game.view(wire, seat)
                again = game.view(seen, seat)
            _require(game.hidden or seen == wire, "view", "the game hides something, but hidden is not True")
            _require(seen.keys() == wire.keys(), "view", "a view has other keys than the state")
            _require(again == seen, "view", f"the view of a view is another one, for {_seat_name(seat)}")
            self._hid_something |= seen != wire
            if game.hidden:
                with _as_broken("draw_board", Exception, f"the view of {_seat_name(seat)} can't be drawn"):
                    self._check_board(game.draw_board(game.decode_state(seen)))
                if seat is not None:
                    self._check_leak(state, seat, seen)
        _require(msgpack.packb(wire) == before, "view", "making a view changes the state")

    def _check_leak(self, state: Any, seat: int, seen: dict[str, Any]) -> None:
        """Check that the moves of a seat, and whose turn it is, follow from what it saw in this game, as in all games
        before. `seen` is its view of a state.
        """
        game = self.game
        if game.to_move(state) == seat:
            moves = game.legal_moves_of(state, seat) if isinstance(game, SimultaneousGame) else game.legal_moves(state)
            options: Any = [game.encode_move(move) for move in moves]
        else:
            options = game.to_move(state)
        chain = self._chains[seat] = sha256(self._chains[seat] + msgpack.packb(seen)).digest()
        _require(
            self._options.setdefault((seat, chain), options) == options,
            "legal_moves",
            f"seat {seat} can tell hidden things from its legal moves: it saw the same in two games, but may do other "
            "things",
        )

    def _check_turn(self, state: Any, rng: random.Random) -> int:
        """Check the legal moves of a position. Return how many there are."""
        game = self.game
        seat = game.to_move(state)
        if seat == CHANCE:
            return 0
        _require(
            seat in range(game.seats),
            "to_move",
            f"the seat to move is {short_repr(seat)}: seats are 0 to {game.seats - 1}",
        )
        moves = game.legal_moves(state)
        _require(len(moves) > 0, "legal_moves", f"seat {seat} is to move, but there is no legal move")
        with _as_broken("legal_moves", TypeError, "a move is not hashable"):
            _require(len(set(moves)) == len(moves), "legal_moves", "a legal move is listed twice")
        legal, options = game.legal_moves_for_turn(state)
        _require(bool(legal), "legal_moves_for_turn", "a turn has no move that can be sent")
        for wire, move in zip(legal, moves, strict=False):
            with _as_broken("decode_move", MalformedMove, f"the legal move {short_repr(wire)} is refused"):
                _require(game.decode_move(wire) == move, "decode_move", f"{short_repr(wire)} becomes another move")
        self._check_frame(state, legal, options)
        sampled = game.sample_move(state, rng.randrange)
        _require(sampled in moves or options is not None, "sample_move", "it drew a move that is not legal")
        for move in (*rng.sample(list(moves), min(len(moves), MAX_CHECKED_MOVES)), sampled):
            self._check_written(move, is_whole=options is None)
        if not isinstance(game, SimultaneousGame):
            self._check_outcomes(state, rng.choice(moves))
            if options is None:
                self._check_illegal_moves(state, moves)
        self._moves.update(dict.fromkeys(moves[:MAX_CHECKED_MOVES]))
        return len(moves)

    def _check_illegal_moves(self, state: Any, legal: Sequence[Any]) -> None:
        """Check that moves of other positions are refused where they are not legal."""
        illegal = (move for move in self._moves if move not in legal)
        for move in islice(illegal, MAX_ILLEGAL_MOVES):
            what = f"the illegal move {short_repr(self.game.notation(move))}"
            _expect_refusal(IllegalMove, "apply", what, partial(self.game.apply, state, move, Dice(b"", 0)))

    def _check_frame(self, state: Any, legal: list[dict[str, Any]], options: dict[str, Any] | None) -> None:
        """Check that a `turn` message with a state and its moves can be sent and arrives unchanged."""
        game = self.game
        turn = Turn(
            match="m",
            ply=game.ply(state),
            to_move=game.to_move(state) or 0,
            state=game.encode_state(state),
            events=[],
            clock=[1],
            legal=legal,
            options=options,
            digest="0" * 64,
        )
        for encoding in (MSGPACK, JSON):
            frame = encoding.encode(turn)
            _require(
                len(frame) <= MAX_SERVER_FRAME_BYTES,
                "encode_state",
                f"a turn takes {len(frame):,} bytes: at most {MAX_SERVER_FRAME_BYTES:,}",
            )
            received = encoding.decode_server(frame)
            _require(
                isinstance(received, Turn) and received.legal == legal, "encode_move", "a turn arrives as another one"
            )

    def _check_written(self, move: Any, *, is_whole: bool = True) -> None:
        """Check that a move is read again from a message, and from its notation. The notation of moves of which there
        are too many to list may be shortened, so that it can't be read (`is_whole` is false).
        """
        game = self.game
        wire = msgpack.unpackb(msgpack.packb(game.encode_move(move)))
        check_move_fits(wire)
        _require(game.decode_move(wire) == move, "decode_move", f"{short_repr(wire)} becomes another move")
        text = game.notation(move)
        _require(
            bool(text) and text.isprintable(), "notation", f"the notation of {short_repr(wire)} is empty or unprintable"
        )
        if is_whole:
            for written in (text, f" {text.upper()} "):
                with _as_broken("parse_move", MalformedMove, f"{short_repr(written)} is not read as a move"):
                    _require(
                        game.parse_move(written) == move, "parse_move", f"{short_repr(written)} is read as another move"
                    )

    def _check_outcomes(self, state: Any, move: Any) -> None:
        outcomes = self.game.outcomes(state, move)
        total = sum(probability for probability, _ in outcomes)
        _require(total == PROBABILITY_ONE, "outcomes", f"the probabilities sum to {total}, not to 1")
        _require(all(probability > 0 for probability, _ in outcomes), "outcomes", "an outcome has the probability 0")
        _require(len({after for _, after in outcomes}) == len(outcomes), "outcomes", "an outcome is listed twice")

    def _check_result(self, state: Any) -> None:
        game = self.game
        ranks = game.ranks(state)
        check_ranks(game, ranks)
        if (paid := game.returns(state)) is not None:
            check_returns(game, paid)
            agrees = all(
                (paid[one] > paid[two]) == (ranks[one] < ranks[two])
                for one in range(game.seats)
                for two in range(game.seats)
            )
            _require(agrees, "ranks", f"the ranks {list(ranks)} do not follow the payoffs {list(paid)}")
        reason = game.reason(state)
        if reason in LIMIT_KEYS:
            _require(LIMIT_KEYS[reason] in game.config, "reason", f"it is {reason}, but no config key sets a limit")
        else:
            expected = DRAW if set(ranks) == {1} else WIN
            _require(reason == expected, "reason", f"it is {reason!r}, not {expected!r}")
        if game.draw_probability == 0:
            _require(ranks.count(1) == 1, "draw_probability", "it is 0, but a game was drawn")


def _has_fraction(value: Any) -> bool:
    """Return whether a number in an encoded state is a float. Floats have no unique spelling."""
    if isinstance(value, dict):
        return any(map(_has_fraction, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_fraction, value))
    return isinstance(value, float)


def _require(condition: bool, method: str, message: str) -> None:
    if not condition:
        raise ContractBroken(method, message)


@contextmanager
def _as_broken(method: str, kinds: type[Exception] | tuple[type[Exception], ...], what: str) -> Iterator[None]:
    """Turn exceptions of some kinds in the block into `ContractBroken`."""
    try:
        yield
    except ContractBroken:
        raise
    except kinds as exc:
        raise ContractBroken(method, f"{what}: {exc}") from exc


def _expect_refusal(kind: type[Fault], method: str, what: str, call: Callable[[], Any]) -> None:
    """Check that a call raises a fault of a kind, whose message is one short line."""
    try:
        call()
    except ContractBroken:
        raise
    except kind as fault:
        text = str(fault)
        _require(text.isprintable(), method, f"{what} is refused with a text of several lines or control characters")
        _require(
            len(text) < MAX_REFUSAL_CHARS,
            method,
            f"{what} is refused with {len(text)} characters: at most {MAX_REFUSAL_CHARS}",
        )
    except Exception as exc:
        raise ContractBroken(method, f"{what} raises {type(exc).__name__}: raise {kind.__name__}") from exc
    else:
        raise ContractBroken(method, f"{what} is accepted: raise {kind.__name__}")


def _seat_name(seat: int | None) -> str:
    return "a spectator" if seat is None else f"seat {seat}"
