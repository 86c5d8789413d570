"""What a seat was paid a round: in a match that ended by the rules, and where a seat left."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from arena.replay.verify import iter_differences, verify_record
from protocol.dice import Dice
from protocol.errors import BadRecord
from protocol.games import game_class, game_names, load_game
from protocol.games.base import NO_DICE
from protocol.messages import End
from protocol.reasons import VOID
from referee import messages, record_reader
from referee.effects import Abort, MoveReceived, NoShow, Resignation
from referee.record import Footer
from referee_table import Table

DEFECT = {"choose": 1}
DICE = Dice(bytes(32), 0)


def dilemma(*rounds: tuple[int, int], of: int = 3, **config: Any) -> Table:
    """The beginning of a match of so many rounds, in which both chose so."""
    table = Table("dilemma", {"rounds": of, **config}).begin()
    for choices in rounds:
        for seat, choice in enumerate(choices):
            table.send(MoveReceived(seat, table.ply, {"choose": choice}))
    return table


def paid(table: Table) -> list[tuple[float | None, int | None]]:
    """Payoff and rounds of each seat: the same in the result, the record, which is true, and the `end`."""
    seats = table.match.result("2026-01-01T00:01:00.000Z").seats
    found = [(seat.payoff, seat.rounds) for seat in seats]
    record = table.record()
    verify_record(record)
    assert record.payoffs == found
    ends = [messages.make_end_from_record(record)]
    ends += [one[-1] for one in table.told if isinstance(one[-1], End)]
    for end in ends:
        assert [(seat.payoff, seat.rounds) for seat in end.seats] == found
    return found


def test_a_payoff_is_the_mean_of_the_rounds() -> None:
    assert paid(dilemma((0, 0), (0, 1), (1, 1))) == [(4 / 3, 3), (3.0, 3)]


def test_who_leaves_is_paid_the_least_for_every_round_to_come_and_who_stays_what_it_had() -> None:
    table = dilemma((0, 0), (0, 1))
    table.send(Resignation(1))
    assert paid(table) == [(3 / 2, 2), ((3 + 5 + 0) / 3, 3)]


def test_a_round_in_which_only_one_has_chosen_is_to_come() -> None:
    table = dilemma((0, 0))
    table.send(MoveReceived(0, table.ply, DEFECT))
    table.send(Resignation(1))
    assert paid(table) == [(3.0, 1), (3 / 3, 3)]


def test_where_no_round_was_complete_who_stays_is_not_counted() -> None:
    table = Table("dilemma", {"rounds": 3})
    table.open()
    table.send(NoShow(1))
    table.begin()
    assert paid(table) == [(None, 0), (0.0, 3)]


@pytest.mark.parametrize(("go_on", "limit", "to_come"), [("0.9", 100, 10), ("0.9", 4, 3), ("0", 9, 1), ("0.7", 99, 3)])
def test_without_a_known_end_as_many_rounds_are_to_come_as_are_to_be_expected(
    go_on: str, limit: int, to_come: int
) -> None:
    game = load_game("dilemma", {"rounds": limit, "go_on": go_on})
    state, _ = game.initial(DICE)
    assert game.count_rounds(state._replace(at=1)) == (1, to_come)
    assert game.count_rounds(state._replace(at=1, over=True)) == (1, 0)


def test_leaving_pays_no_more_than_the_worst_that_could_have_come() -> None:
    worst = dilemma((0, 1), (0, 1), (0, 1))
    left = dilemma((0, 1))
    left.send(Resignation(0))
    assert paid(left)[0] == paid(worst)[0]


@pytest.mark.parametrize(("name", "least"), [("kuhn", -2), ("leduc", -13)])
def test_a_hand_that_is_not_over_is_to_come_and_costs_who_leaves_the_most_that_can_be_paid(
    name: str, least: int
) -> None:
    table = Table(name, {"hands": 4}).begin()
    while table.match.standing.current_course.state.hand < 1:
        table.play(table.last(table.to_move).legal[0])
    won, other = table.match.standing.current_course.state.chips
    table.play(table.last(table.to_move).legal[0])
    table.send(Resignation(0))
    assert paid(table) == [((won + 3 * least) / 4, 4), (float(other), 1)]


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_no_hand_costs_more_than_the_least_payoff(name: str) -> None:
    game = load_game(name, {"hands": 1})
    found = set()

    def look(state: Any) -> None:
        found.update([state.chips] if game.to_move(state) is None else [])
        after = [each for _, each in game.chance_outcomes(state)] if game.to_move(state) == -1 else []
        for each in after or [game.apply(state, move, NO_DICE)[0] for move in game.legal_moves(state)]:
            look(each)

    look(game.initial(DICE)[0]._replace(cards=None, at=0))
    assert tuple(min(chips[seat] for chips in found) for seat in range(2)) == game.least_payoffs


def test_a_match_that_is_called_off_pays_nobody() -> None:
    table = dilemma((0, 0))
    table.send(Abort())
    result = table.match.result("2026-01-01T00:01:00.000Z")
    assert result.reason == VOID
    assert paid(table) == [(None, None)] * 2


def test_the_footer_of_a_game_of_ranks_says_nothing_of_payoffs() -> None:
    table = Table("nim", {"heaps": [2]}).begin().finish_at_random()
    assert paid(table) == [(None, None)] * 2
    assert b"payoffs" not in record_reader.unpack(table.packed(), "")
    assert b"rounds" not in record_reader.unpack(table.packed(), "").split(b"\n")[-2]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"payoffs": [3.0, 3.1]}, r"after ply 2: payoffs should be \[1.3333333333333333, 3.0\], the footer says"),
        ({"payoffs": [3.0, None]}, "after ply 2: payoffs should be"),
        ({"payoffs": None}, "after ply 2: payoffs should be .* the footer says None"),
        ({"rounds": [3, 4]}, r"after ply 2: rounds should be \[3, 3\], the footer says \[3, 4\]"),
        ({"rounds": None}, "after ply 2: rounds should be"),
    ],
)
def test_altered_payoffs_are_refused(change: dict[str, Any], complaint: str) -> None:
    record = dilemma((0, 0), (0, 1), (1, 1)).record()
    footer: Footer = replace(record.footer, **change)
    with pytest.raises(BadRecord, match=complaint):
        verify_record(record._replace(footer=footer))


def test_payoffs_of_a_game_that_has_none_are_refused() -> None:
    record = Table("nim", {"heaps": [2]}).begin().finish_at_random().record()
    with pytest.raises(BadRecord, match="payoffs should be None"):
        verify_record(record._replace(footer=replace(record.footer, payoffs=[1.0, 0.0])))


def test_a_footer_with_a_payoff_too_few_is_refused_in_reading() -> None:
    table = dilemma((0, 0), (0, 1), (1, 1))
    footer = table.record().footer
    table.match.footer = lambda *_: replace(footer, payoffs=[3.0])  # type: ignore[method-assign]
    with pytest.raises(BadRecord, match="the footer has 1 payoffs, but the header has 2 seats"):
        record_reader.read_record(table.packed(), "m-1")


def test_a_stored_payoff_that_is_not_the_records_is_a_difference() -> None:
    table = dilemma((0, 0), (0, 1), (1, 1))
    record, result = table.record(), table.match.result("2026-01-01T00:01:00.000Z")
    assert not list(iter_differences(record, result, []))
    seats = replace(result.seats[0], payoff=5.0), result.seats[1]
    assert list(iter_differences(record, replace(result, seats=seats), [])) == [
        "seat 0: payoff is 5.0, the record says 1.3333333333333333"
    ]


@pytest.mark.parametrize(
    ("name", "preset", "sums_to_zero"),
    [("dilemma", "axelrod", False), ("dilemma", "rock-paper-scissors", True), ("kuhn", "classic", True)],
)
def test_payoffs_sum_to_zero_or_not(name: str, preset: str, sums_to_zero: bool) -> None:
    assert load_game(name, {"preset": preset}).zero_sum == sums_to_zero


@pytest.mark.parametrize("name", game_names())
def test_a_game_has_a_unit_of_payoffs_where_it_has_payoffs(name: str) -> None:
    for preset in game_class(name).presets.values():
        game = load_game(name, preset)
        state, _ = game.initial(DICE)
        counted = game.returns(state) is not None
        assert bool(game.payoff_unit) == counted
        if counted:
            assert len(game.least_payoffs) == game.seats
            complete, to_come = game.count_rounds(state)
            assert complete == 0 < to_come
