"""A referee's table in memory for tests: a match, its journal and what every seat was told; and two games for three."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

import msgspec

from arena.ratings import rating_system
from arena.replay.verify import verify_record
from games.nim.rules import Nim
from protocol.dice import Dice
from protocol.games import guard_game, shared_game
from protocol.games.base import Game
from protocol.games.parsing import (
    parse_choice,
    parse_integer,
    parse_integers,
    raise_illegal,
    read_config,
    read_move_fields,
)
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE, Clock, End, Event, Player, Rejected, Start, Turn
from referee import record as records
from referee import record_reader
from referee.effects import (
    DeadlineReached,
    Effect,
    FinishMatch,
    MoveReceived,
    Reconnect,
    ReleaseSeat,
    ReportRulesFault,
    SeatReady,
    SendToSeat,
    SendToSeats,
    SendToWatchers,
    SetDeadline,
    WriteLine,
)
from referee.match import Match
from referee.record import AnyLine, Header, Ply, RecordedSeat, Strike, is_public, make_header, write_line
from referee.state import Phase

SEED = bytes(range(32))
A_MOVE = {"heap": 2, "take": 1}
"""The first move of many a match of nim."""
NONCES = (b"\x11" * 16, b"", b"\x22" * 16)


class Pile(NamedTuple):
    """Sticks left, the seat to move, the ply, the seats that dropped out and the one that took the last stick."""

    sticks: int
    seat: int
    at: int
    out: tuple[int, ...] = ()
    winner: int | None = None


class Heaps(Nim):
    """Nim with presets of its own: shorter ones, and some with a deal."""

    name = "heaps"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "classic": {"heaps": [9, 9, 9], "start": "p-position"},
        "misere": {"heaps": [5, 5, 5], "start": "p-position", "misere": True},
        "short": {"heaps": [3, 4]},
        "pair": {"heaps": [1, 1]},
    }


class Dibs(Game[Pile, int]):
    """Three seats take 1 to 3 sticks of a pile in turn; a six on the die takes one more. Who takes the last wins."""

    name = "dibs"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "classic": {},
        "short": {"sticks": [9]},
        "dealt": {"sticks": [15], "dealt": True},
    }
    draw_probability = 0.0
    seats = 3

    def __init__(self, config: Mapping[str, Any]) -> None:
        given = read_config(Dibs, config, {"sticks": [12], "dealt": False})
        self.sticks = parse_integers("dibs", "sticks", given["sticks"], count=(1, 1), bounds=(1, 100))[0]
        self.config = {"sticks": [self.sticks], "dealt": parse_choice("dibs", "dealt", given["dealt"], (False, True))}

    def initial(self, dice: Dice) -> tuple[Pile, Event | None]:
        if not self.config["dealt"]:
            return Pile(self.sticks, 0, 0), None
        sticks = dice.choice("deal", self.sticks) + 1
        return Pile(sticks, 0, 1), Event(ply=0, seat=CHANCE, move={"sticks": sticks})

    def to_move(self, state: Pile) -> int | None:
        return None if state.winner is not None else state.seat

    def ply(self, state: Pile) -> int:
        return state.at

    def key(self, state: Pile) -> Pile:
        return state._replace(at=0)

    def legal_moves(self, state: Pile) -> list[int]:
        return [] if state.winner is not None else list(range(1, min(3, state.sticks) + 1))

    def apply(self, state: Pile, move: int, dice: Dice) -> tuple[Pile, Event]:
        if not 1 <= move <= min(3, state.sticks):
            raise_illegal(f"take is {move}: 1 to {min(3, state.sticks)} may be taken")
        die = dice.roll("luck")
        left = max(0, state.sticks - move - (die == 6))
        event = Event(ply=state.at, seat=state.seat, move={"take": move}, dice=[[die]], result={"left": left})
        winner = None if left else state.seat
        return state._replace(
            sticks=left, seat=self._after(state.seat, state.out), at=state.at + 1, winner=winner
        ), event

    def _after(self, seat: int, out: tuple[int, ...]) -> int:
        return next(s % 3 for s in range(seat + 1, seat + 4) if s % 3 not in out)

    def remove_seat(self, state: Pile, seat: int) -> Pile:
        out = (*state.out, seat)
        left = [s for s in range(3) if s not in out]
        if len(left) == 1:
            return state._replace(out=out, winner=left[0])
        return state._replace(out=out, seat=self._after(seat, out) if state.seat == seat else state.seat)

    def ranks(self, state: Pile) -> tuple[int, ...]:
        late = {seat: place for place, seat in enumerate(reversed(state.out))}
        staying = 3 - len(late)
        behind = 1 if state.winner is None else 2
        return tuple(1 if s == state.winner else staying + 1 + late[s] if s in late else behind for s in range(3))

    def encode_state(self, state: Pile) -> dict[str, Any]:
        return {"sticks": state.sticks, "out": list(state.out), "to_move": self.to_move(state), "ply": state.at}

    def decode_state(self, wire: Mapping[str, Any]) -> Pile:
        return Pile(wire["sticks"], wire["to_move"], wire["ply"], tuple(wire["out"]))

    def encode_move(self, move: int) -> dict[str, Any]:
        return {"take": move}

    def decode_move(self, wire: Any) -> int:
        return read_move_fields(wire, '{"take": 1}', "take")[0]

    def draw_board(self, state: Pile) -> str:
        return "|" * state.sticks

    def notation(self, move: int) -> str:
        return str(move)


class Auction(NamedTuple):
    """Rounds that are over, who won how much, what each may bid, if that is dealt, the ply, and who dropped out."""

    rounds: int
    won: tuple[int, ...]
    most: tuple[int | None, ...] | None
    at: int
    out: tuple[int, ...] = ()


class Bids(SimultaneousGame[Auction, int]):
    """Three seats are each dealt in secret how much they may bid, and bid at once; a highest bid, drawn by lot, wins as
    much. Who won most in all is first.
    """

    name = "bids"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"classic": {}}
    draw_probability = 0.1
    seats = 3
    hidden = True

    def __init__(self, config: Mapping[str, Any]) -> None:
        given = read_config(Bids, config, {"rounds": 3})
        self.config = {"rounds": parse_integer("bids", "rounds", given["rounds"], 1, 9)}

    def initial(self, dice: Dice) -> tuple[Auction, Event]:
        return self.apply_chance(Auction(0, (0, 0, 0), None, 0), dice)

    def apply_chance(self, state: Auction, dice: Dice) -> tuple[Auction, Event]:
        most = [dice.choice("deal", 4) for _ in range(3)]
        event = Event(ply=state.at, seat=CHANCE, move={"most": most})
        return state._replace(most=tuple(most), at=state.at + 1), event

    def _over(self, state: Auction) -> bool:
        return state.rounds == self.config["rounds"] or len(state.out) >= 2

    def movers(self, state: Auction) -> tuple[int, ...]:
        if state.most is None or self._over(state):
            return ()
        return tuple(seat for seat in range(3) if seat not in state.out)

    def to_move(self, state: Auction) -> int | None:
        return CHANCE if state.most is None and not self._over(state) else super().to_move(state)

    def ply(self, state: Auction) -> int:
        return state.at

    def key(self, state: Auction) -> Auction:
        return state._replace(at=0)

    def legal_moves_of(self, state: Auction, seat: int) -> range:
        assert state.most is not None
        return range((state.most[seat] or 0) + 1)

    def check_move(self, state: Auction, seat: int, move: int) -> None:
        if move not in self.legal_moves_of(state, seat):
            raise_illegal(f"bid is {move}: it is one of {list(self.legal_moves_of(state, seat))}")

    def resolve_round(self, state: Auction, moves: Mapping[int, int], dice: Dice) -> tuple[Auction, Event]:
        highest = [seat for seat in sorted(moves) if moves[seat] == max(moves.values())]
        winner = highest[dice.choice("lot", len(highest))]
        won = tuple(had + moves[winner] * (seat == winner) for seat, had in enumerate(state.won))
        event = Event(ply=state.at, seat=CHANCE, moves=self.encode_moves(moves), result={"winner": winner})
        return Auction(state.rounds + 1, won, None, state.at + 1, state.out), event

    def remove_seat(self, state: Auction, seat: int) -> Auction:
        return state._replace(out=(*state.out, seat))

    def ranks(self, state: Auction) -> tuple[int, ...]:
        late = {seat: place for place, seat in enumerate(reversed(state.out))}
        staying = [seat for seat in range(3) if seat not in late]
        behind = len(staying) + 1
        return tuple(
            behind + late[seat] if seat in late else 1 + sum(state.won[other] > state.won[seat] for other in staying)
            for seat in range(3)
        )

    def view(self, wire: dict[str, Any], seat: int | None) -> dict[str, Any]:
        return wire if wire["most"] is None else {**wire, "most": _own(wire["most"], seat)}

    def view_event(self, event: Event, seat: int | None) -> Event:
        if event.move is None:
            return event
        return msgspec.structs.replace(event, move={"most": _own(event.move["most"], seat)})

    def encode_state(self, state: Auction) -> dict[str, Any]:
        dealt = state.most is not None or self._over(state)
        return {
            "rounds": state.rounds,
            "won": list(state.won),
            "most": None if state.most is None else list(state.most),
            "out": list(state.out),
            "to_move": (list(self.movers(state)) or None) if dealt else CHANCE,
            "ply": state.at,
        }

    def decode_state(self, wire: Mapping[str, Any]) -> Auction:
        most = None if wire["most"] is None else tuple(wire["most"])
        return Auction(wire["rounds"], tuple(wire["won"]), most, wire["ply"], tuple(wire["out"]))

    def encode_move(self, move: int) -> dict[str, Any]:
        return {"bid": move}

    def decode_move(self, wire: Any) -> int:
        return read_move_fields(wire, '{"bid": 1}', "bid")[0]

    def draw_board(self, state: Auction) -> str:
        return " ".join(map(str, state.won))

    def notation(self, move: int) -> str:
        return str(move)


def _own(values: Iterable[Any], seat: int | None) -> list[Any]:
    return [value if at == seat else None for at, value in enumerate(values)]


def header(
    game: str = "nim",
    config: Mapping[str, Any] | None = None,
    *,
    match: str = "m-1",
    rated: bool = False,
    bank: float = 60.0,
    increment: float = 0.5,
    away: float = 0.0,
    bots: Iterable[str] = ("ann", "bob"),
    seed: bytes = SEED,
    tournament: str | None = None,
) -> Header:
    clock = Clock(bank_ms=round(bank * 1000), increment_ms=round(increment * 1000))
    from protocol.games import load_game

    rules = load_game(game, config)
    made = make_header(
        match=match,
        game=rules,
        seats=[RecordedSeat(bot=bot, version="1") for bot in bots],
        seed=seed,
        pool=next(iter(rules.pools), None) if rated else None,
        clock=clock,
        away_ms=round(away * 1000),
        started="2026-01-01T00:00:00.000Z",
        tournament=tournament,
        place=None if tournament is None else 0,
    )
    assert made.rated == rated, "no pool rates this config"
    return made


class Table:
    """A match that is performed on paper. Every effect is checked: nothing is told before it is recorded. With
    `guarded`, its rules are not trusted, as those of brought games are.
    """

    def __init__(self, game: str = "nim", config: Mapping[str, Any] | None = None, **fixed: Any) -> None:
        bots = ("ann", "bob", "cas") if game in ("dibs", "bids") else ("ann", "bob")
        guarded = fixed.pop("guarded", False)
        self.header = fixed.pop("header", None) or header(game, config, bots=bots, **fixed)
        players = [Player(bot=seat.bot, version="1") for seat in self.header.seats]
        game = guard_game(shared_game(self.header.game, self.header.config)) if guarded else None
        self.match = Match(self.header, SEED, players, game=game)
        self.seats = range(self.match.game.seats)
        self.now = 100.0
        self.lines: list[AnyLine] = []
        self.told: list[list[Any]] = [[] for _ in self.seats]
        self.shown: list[Any] = []
        self.deadline: float | None = None
        self.finishes = 0
        self.received = 0
        self.released: list[int] = []
        self.faults: list[str] = []

    def open(self) -> list[Effect]:
        return self.perform(self.match.start_match(self.now))

    def begin(self, nonces: Iterable[bytes] = NONCES) -> Table:
        """Let every seat be ready; open the match before, if it is not."""
        if not self.lines:
            self.open()
        for seat, nonce in zip(self.seats, nonces, strict=False):
            self.send(SeatReady(seat, nonce))
        return self

    def resume(self, lines: Iterable[AnyLine]) -> Table:
        """Go on from these lines of a journal."""
        self.lines = list(lines)
        self.perform(self.match.resume(self.match.load_journal(self.lines[2:]), self.now))
        return self

    def restarted(self, cut: int | None = None, now: float | None = None) -> Table:
        """The match in an arena that goes on with it, and knows of it what the journal has before the line `cut`."""
        again = Table(header=self.header)
        again.now = self.now if now is None else now
        again.match.set_watched(is_watched=self.match._watched)
        return again.resume(self.lines[:cut])

    def return_all(self) -> Table:
        """Let every seat come back."""
        for seat in self.seats:
            self.send(Reconnect(seat))
        return self

    def send(self, event: Any, after: float = 0.0) -> list[Effect]:
        self.now += after
        self.received += 1
        return self.perform(self.match.receive(event, self.now))

    def play(self, move: Any, after: float = 0.0, **more: Any) -> list[Effect]:
        """The seat to move answers its turn."""
        return self.send(MoveReceived(self.to_move, self.ply, move, **more), after)

    def expire(self) -> list[Effect]:
        """Wait until the deadline."""
        assert self.deadline is not None
        return self.send(DeadlineReached(), max(0.0, self.deadline - self.now))

    def finish_at_random(self) -> Table:
        """Play the first legal move until the end."""
        while self.match.standing.phase is Phase.PLAYING:
            self.play(self.match.standing.current_course.legal_moves(self.to_move)[0][0])
        return self

    @property
    def ply(self) -> int:
        return self.match.standing.current_course.ply

    @property
    def to_move(self) -> int:
        """The seat that is to move; of several the first."""
        return self.match.standing.current_course.awaited_seats[0]

    def banks(self) -> list[int]:
        return self.match.standing.clock.milliseconds_left(self.now)

    def last(self, seat: int) -> Any:
        return self.told[seat][-1]

    def perform(self, effects: list[Effect]) -> list[Effect]:
        for effect in effects:
            if isinstance(effect, WriteLine):
                self.lines.append(effect.line)
            elif isinstance(effect, SendToSeat):
                self._check(effect.message, effect.seat)
                self.told[effect.seat].append(effect.message)
            elif isinstance(effect, SendToSeats):
                self._check(effect.message, effect.seats[0])
                for seat in effect.seats:
                    self.told[seat].append(effect.message)
            elif isinstance(effect, SendToWatchers):
                self._check(effect.message, None)
                self.shown.append(effect.message)
            elif isinstance(effect, ReleaseSeat):
                self.released.append(effect.seat)
            elif isinstance(effect, SetDeadline):
                self.deadline = effect.time
            elif isinstance(effect, ReportRulesFault):
                self.faults.append(str(effect.fault))
            elif isinstance(effect, FinishMatch):
                self.finishes += 1
        return effects

    def _check(self, message: Any, seat: int | None) -> None:
        assert not (isinstance(message, End) and message.seed), "the seed may be told only after Finish"
        if isinstance(message, Start):
            assert self.header in self.lines
        elif isinstance(message, Rejected) and message.strikes_left is not None:
            assert any(isinstance(line, Strike) and line.message == message.message for line in self.lines)
        elif isinstance(message, (Turn, End)):
            plies = [line for line in self.lines if isinstance(line, Ply)]
            seen = [self.match.game.view_event(line.event, seat) for line in plies]
            assert all(event in seen for event in message.events)
            assert not plies or message.digest in [line.digest for line in plies]

    def record(self) -> records.Record:
        """The record of the finished match, through its bytes."""
        return record_reader.read_record(self.packed(), "m-1.jsonl.gz")

    def packed(self) -> bytes:
        result = self.match.result("2026-01-01T00:01:00.000Z")
        ratings = None
        if result.pool is not None:
            ranks = [seat.rank for seat in result.seats]
            versions = [seat.version for seat in result.seats]
            ratings = rating_system.rate(result.pool, [rating_system.RatingStanding()] * len(ranks), versions, ranks)
        lines = [line for line in map(write_line, self.lines) if is_public(line)]
        return records.pack_record(lines, self.match.footer(result, ratings))


def ended(table: Table) -> list[str]:
    """Why the match is over for each seat; checks that it is, once, and that its record verifies."""
    assert table.match.standing.phase is Phase.OVER
    assert table.finishes == 1
    assert table.deadline is None
    verify_record(table.record())
    return [seat.reason for seat in table.match.result("x").seats]
