"""A match whose rules run elsewhere goes as it does with the rules here, to the byte, and asks once at most plies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

import msgspec
import pytest

from example_games import EXAMPLES
from protocol.errors import BadConfig, RulesFault
from protocol.games import game_class, guard_game, load_game, shared_game
from protocol.games.isolated import IsolatedGame, RulesWanted, answer, answer_load, load_question, value_of
from protocol.reasons import VOID
from referee.effects import Disconnect, Forfeit, MoveReceived, Reconnect
from referee.match import Match
from referee.record import Sealed
from referee.state import Phase
from referee_table import Table, ended
from wrong_games import MUTABLE, NAMES, brought, write_game


class Elsewhere:
    """The rules of a game, and how often they were asked."""

    def __init__(self, game: str, config: dict[str, Any]) -> None:
        self.rules = guard_game(shared_game(game, config))
        self.asked = 0
        self.states: dict[bytes, Any] = {}

    def isolate(self) -> IsolatedGame:
        question = load_question(self.rules.config)
        facts = value_of("x", answer_load(lambda config: load_game(self.rules.name, config), question)[question])
        return IsolatedGame(game_class(self.rules.name), facts)

    def fetch(self, question: bytes) -> Any:
        self.asked += 1
        return answer(self.rules, question, self.states)


class IsolatedTable(Table):
    """A table whose match fetches answers when it wants them, and then handles the event again."""

    def __init__(self, game: str, config: dict[str, Any] | None = None, **fixed: Any) -> None:
        super().__init__(game, config, **fixed)
        self.elsewhere = Elsewhere(game, self.header.config)
        self.game = self.elsewhere.isolate()
        self.match = Match(self.header, self.match._seed, self.match.players, game=self.game)

    def send(self, event: Any, after: float = 0.0) -> Any:
        self.now += after
        self.received += 1
        return self.perform(self.answered(lambda: self.match.receive(event, self.now)))

    def resume(self, lines: Sequence[Any]) -> Self:
        self.lines = list(lines)
        self.game.fetch = self.elsewhere.fetch
        summary = self.match.load_journal(lines[2:])
        self.game.fetch = None
        self.perform(self.answered(lambda: self.match.resume(summary, self.now)))
        return self

    def answered(self, ask: Callable[[], Any]) -> Any:
        """Return what is answered when all questions are; before that, the match is as it was."""
        before = self.match.standing.snapshot()
        while True:
            try:
                return ask()
            except RulesWanted as wanted:
                assert self.match.standing.snapshot() == before
                self.game.add_answers(self.elsewhere.fetch(wanted.question))

    def perform(self, effects: Any) -> Any:
        """Perform effects, and check them by views that may have to be fetched."""
        self.game.fetch = self.elsewhere.fetch
        try:
            return super().perform(effects)
        finally:
            self.game.fetch = None


T = TypeVar("T", bound=Table)


def scripted(table: T) -> T:
    """Play the first and the last legal moves in turn, with refused moves, a lost connection and watchers."""
    table.match.set_watched(is_watched=True)
    table.match.add_follower(1)
    table.begin()
    table.play({"nonsense": 1})
    table.play(7)
    for number in range(400):
        if table.match.standing.phase is not Phase.PLAYING:
            break
        seat = table.to_move
        if number == 3:
            table.send(Disconnect(seat))
            table.send(Reconnect(seat))
        turn = next(message for message in reversed(table.told[seat]) if getattr(message, "legal", None))
        table.send(MoveReceived(seat, table.ply, turn.legal[0 if number % 2 else -1]))
    return table


def told(table: Table) -> bytes:
    """Encode all that seats and watchers of a match were told, and its journal."""
    return msgspec.json.encode([table.told, table.shown, table.lines, table.released])


@pytest.mark.parametrize("file", ["connect4", "pig", "onecard"])
def test_it_tells_and_records_the_same(file: str) -> None:
    with brought(EXAMPLES / f"{file}.py"):
        here = scripted(Table(file, guarded=True))
        there = scripted(IsolatedTable(file))
        assert told(there) == told(here)
        assert there.packed() == here.packed()
        assert ended(there) == ended(here)


@pytest.mark.usefixtures("dibs")
@pytest.mark.parametrize("leaves", [None, 0, 1])
def test_rounds_and_seats_that_leave_are_the_same(leaves: int | None) -> None:
    def play(table: Table) -> Table:
        table.begin()
        if leaves is not None:
            table.send(Forfeit(leaves))
        while table.match.standing.phase is Phase.PLAYING:
            course = table.match.standing.current_course
            table.send(MoveReceived(course.awaited_seats[0], course.ply, {"bid": 0}))
        return table

    here, there = play(Table("bids", guarded=True)), play(IsolatedTable("bids"))
    assert told(there) == told(here)
    assert there.packed() == here.packed()


def test_a_move_that_can_not_be_asked_about_is_malformed() -> None:
    with brought(EXAMPLES / "connect4.py"):
        table = IsolatedTable("connect4").begin()
        table.play({"move": 1 << 70})
        assert table.match.standing.strikes == {0: 1}
        assert table.last(0).message == "{'move': 1180591620717411303424} is not a move of connect4"


def test_a_ply_without_chance_asks_once() -> None:
    with brought(EXAMPLES / "connect4.py"):
        table = IsolatedTable("connect4")
        table.begin()
        before = table.elsewhere.asked
        for _ in range(10):
            table.play({"move": 1 + table.ply % 7})
        assert table.elsewhere.asked - before == 10


def test_a_match_goes_on_from_its_journal() -> None:
    with brought(EXAMPLES / "onecard.py"):
        table = IsolatedTable("onecard").begin()
        again = IsolatedTable("onecard").resume(table.lines)
        for seat in again.seats:
            again.send(Reconnect(seat))
        assert again.last(again.to_move).state == table.last(table.to_move).state


def test_a_restart_before_a_round_is_played_wants_its_answers_first(dibs: None) -> None:
    """The journal ends just before the round whose moves are all in it."""
    here = Table("bids", guarded=True).begin()
    for seat in here.seats:
        here.send(MoveReceived(seat, 1, {"bid": 0}))
    lines = here.lines[: 1 + max(at for at, line in enumerate(here.lines) if isinstance(line, Sealed))]
    again, there = IsolatedTable("bids").resume(lines), Table("bids", guarded=True).resume(lines)
    assert told(again) == told(there)


def test_rules_that_fail_elsewhere_void_the_match_with_their_line(tmp_path: Any) -> None:
    with brought(write_game(tmp_path, ("return Count(state.number + move, 1 - state.seat)", "return 1 / 0"))):
        table = IsolatedTable("counting").begin()
        table.play({"move": 1})
        assert table.faults == [
            "the rules of counting failed: counting.py, line 27: ZeroDivisionError: division by zero"
        ]
        assert table.match.result("x").reason == VOID


@pytest.mark.parametrize(
    ("method", "place"), [("return [1, 2]", ""), ("return Count(state.number + move, 1 - state.seat)", "counting.py: ")]
)
def test_rules_that_change_a_state_spoil_no_other_match(tmp_path: Any, method: str, place: str) -> None:
    """Equal states of two matches are kept once, until one of the matches goes on."""
    with brought(write_game(tmp_path, *MUTABLE, (method, f"state.note()\n        {method}"))):
        table, other = IsolatedTable("counting"), IsolatedTable("counting")
        other.elsewhere = table.elsewhere
        for one in (table, other):
            one.begin()
            assert one.last(0).state["seen"] == []
        table.play({"move": 1})
        other.play({"move": 2})
        reason = "a state changed after it was returned: make a new state instead"
        assert table.faults == [f"the rules of counting failed: {place}{reason}"]
        assert other.faults == []


def test_many_deals_one_after_another_are_the_same_and_their_states_count_once(tmp_path: Any) -> None:
    turn = "return CHANCE if state.number < 40 else None if state.number >= 45 else state.seat"
    chances = "    def chances(self, state):\n        return [(1, state._replace(number=state.number + 1))]\n\n"
    seen = "    def seen(self, state, seat):\n        return state\n\n"
    changes = (
        ("return None if state.number >= 5 else state.seat", turn),
        ("    def moves(", f"{chances}{seen}    def moves("),
        ('    name = "counting"', '    name = "counting"\n    hidden = True'),
    )
    with brought(write_game(tmp_path, *changes)):
        here, there = Table("counting", guarded=True).begin(), IsolatedTable("counting").begin()
        assert told(there) == told(here)
        assert there.match._states_bytes == here.match._states_bytes > 0


def test_a_move_that_is_sent_again_with_its_name_is_ignored_elsewhere_too(tmp_path: Any) -> None:
    file = write_game(tmp_path)
    file.write_text(file.read_text() + NAMES)
    with brought(file):
        table = IsolatedTable("counting").begin()
        named = table.last(0).legal[0]
        table.play(named)
        assert table.send(MoveReceived(0, 0, named)) == []


def test_a_move_that_is_legal_only_in_another_match_costs_a_bot(tmp_path: Any) -> None:
    with brought(write_game(tmp_path, ("return [1, 2]", "return [1, 2] if state.number else [1]"))):
        table, other = IsolatedTable("counting").begin(), IsolatedTable("counting")
        other.elsewhere = table.elsewhere
        other.begin().play({"move": 1})
        table.play({"move": 2})
        assert (table.match.standing.strikes, table.faults) == ({0: 1}, [])


def test_matches_share_no_answers() -> None:
    with brought(EXAMPLES / "connect4.py"):
        game = Elsewhere("connect4", {}).isolate()
        first, second = game.for_match(), game.for_match()
        first.add_answers({b"question": ("ok", 1)})
        assert (len(first.answers), len(second.answers), len(game.answers)) == (1, 0, 0)


def test_a_config_is_refused_as_it_is_here() -> None:
    with brought(EXAMPLES / "connect4.py"):
        question = load_question({"columns": 99})
        answers = answer_load(lambda config: load_game("connect4", config), question)
        with pytest.raises(BadConfig) as refused:
            value_of("connect4", answers[question])
        with pytest.raises(BadConfig) as here:
            load_game("connect4", {"columns": 99})
        assert str(refused.value) == str(here.value)


def test_rules_that_fail_on_a_config_elsewhere_are_a_fault(tmp_path: Any) -> None:
    with brought(write_game(tmp_path, ("return Count()", "return 1 / 0"))):
        question = load_question({})
        answers = answer_load(lambda config: load_game("counting", config), question)
        with pytest.raises(RulesFault, match=r"^the rules of counting failed: counting.py, line 18: ZeroDivisionError"):
            value_of("counting", answers[question])


def test_isolated_rules_can_only_be_refereed() -> None:
    with brought(EXAMPLES / "connect4.py"):
        game = Elsewhere("connect4", {}).isolate()
        assert (game.pool, game.pools[0], game.seats) == ("connect4/classic", "connect4/classic", 2)
        with pytest.raises(TypeError, match="it can only be refereed here"):
            game.draw_board(b"")
