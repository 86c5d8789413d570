"""Whatever happens in whatever order: the referee never fails, ends once, and leaves a record that verifies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from protocol.messages import End, Turn
from referee.messages import make_end_from_record
from referee.record import AnyLine, Begun, Ply, Sealed
from referee.state import Phase
from referee_scripts import (
    GAMES,
    READY,
    GameConfig,
    Script,
    banks_in,
    check_end,
    check_event,
    finished,
    rehearsed,
    scripts,
)
from referee_table import Table
from volumes import examples

pytestmark = pytest.mark.usefixtures("dibs")


def check_told(table: Table) -> None:
    """Every `turn` that a seat answered was its own, with a move to send, and each event is told once, in order."""
    for seat in table.seats:
        for message in table.told[seat]:
            if isinstance(message, Turn):
                assert message.legal is None or message.legal
                assert message.legal is None or seat in message.movers
                assert message.legal is not None or message.to_move != seat
                assert all(ms >= 0 for ms in message.clock)
        assert sum(isinstance(message, End) for message in table.told[seat]) <= 1
        end = table.match.end_message(seat)
        assert end.seed == table.match._seed.hex()
        assert table.match.standing.events[len(table.match.standing.events) - len(end.events) :] == end.events
    record = table.record()
    told, kept = table.match.end_message(None, record.footer.ratings), make_end_from_record(record)
    if not record.lines:  # called off before an event: then the record does not tell whether it had begun
        kept = replace(kept, state=told.state)
    assert replace(kept, events=told.events) == told
    assert kept.events[len(kept.events) - len(told.events) :] == told.events
    shown = [event for message in table.shown if isinstance(message, Turn) for event in message.events]
    seen = [table.match.game.view_event(event, None) for event in table.match.standing.events]
    assert shown == seen[: len(shown)], "a spectator is told its view"
    assert told.events == table.match.standing.events[len(shown) :], "and at the end all"


@pytest.mark.no_cover
@settings(max_examples=examples(150, nightly=600))
@given(st.sampled_from(GAMES), READY, scripts(), st.sampled_from((0.0, 3.0)))
def test_no_sequence_of_events_breaks_what_holds_of_every_match(
    game: GameConfig, ready: list[int], script: Script, away: float
) -> None:
    table = finished(rehearsed(game, ready, script, check=check_event, away=away))
    check_event(table)
    check_end(table)
    if not any(what[0] == "restart" for what, _ in script):  # what was told before is another table's
        check_told(table)


@pytest.mark.no_cover
@settings(max_examples=examples(40, nightly=100))
@given(st.sampled_from(GAMES), READY, scripts())
def test_a_match_resumed_from_any_cut_of_its_journal_is_the_match_that_was_cut(
    game: GameConfig, ready: list[int], script: Script
) -> None:
    script = [(what, after) for what, after in script if what[0] != "void"]
    table = finished(rehearsed(game, ready, script))
    begun = next((at for at, line in enumerate(table.lines) if isinstance(line, Begun)), len(table.lines) - 1)
    for cut in range(begun + 1, len(table.lines) + 1):
        check_resumed(table, cut)


def events_before_last_move(lines: list[AnyLine], seat: int) -> int:
    events = before = 0
    for line in lines:
        if line_of_move(line, seat):
            before = events
        events += isinstance(line, Ply)
    return before


def line_of_move(line: AnyLine, seat: int) -> bool:
    if isinstance(line, Sealed):
        return line.seat == seat
    return isinstance(line, Ply) and line.event.seat == seat and line.event.move is not None


def check_resumed(table: Table, cut: int) -> None:
    again = table.restarted(cut, now=900.0)
    expected = table.lines[: len(again.lines)]
    assert [line for line in again.lines if not isinstance(line, Ply)] == [
        line for line in expected if not isinstance(line, Ply)
    ]
    lines = [line for line in again.lines if isinstance(line, (Ply, Sealed))]
    before = [line for line in expected if isinstance(line, (Ply, Sealed))]
    assert [(line.event, line.digest) for line in lines if isinstance(line, Ply)] == [
        (line.event, line.digest) for line in before if isinstance(line, Ply)
    ]
    if lines and before and cut == len(again.lines):
        assert again.banks() == banks_in(again.lines, table.header.clock.bank_ms, len(table.seats))
        assert sum(again.match.standing.clock.compensated_ms) == sum(line.given for line in before)
    if again.match.standing.phase is Phase.PLAYING:
        again.return_all()
        to_move = again.to_move
        turn = again.last(to_move)
        assert isinstance(turn, Turn)
        news = again.match.standing.events[events_before_last_move(again.lines, to_move) :]
        assert turn.events == [again.match.game.view_event(event, to_move) for event in news]
        assert turn.legal == again.match.standing.course.legal_moves(to_move)[0]
        again.finish_at_random()
    check_end(again)


@pytest.mark.parametrize(("game", "config"), GAMES)
def test_the_same_events_give_the_same_match(game: str, config: dict[str, Any]) -> None:
    script = [(("legal", n * 7, None, 0.02), 0.5) for n in range(12)]
    first, second = (finished(rehearsed((game, config), [0, 1, 2], script)) for _ in range(2))
    assert first.lines == second.lines
    assert first.told == second.told
