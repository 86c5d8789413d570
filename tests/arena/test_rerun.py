"""A match again with another bot in a seat: how far it goes along with the record, what it is worth from there on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest
from msgspec.structs import replace

import rerun_bots
from arena.rerun.fork import BranchPlayers, Continuation, RecordAgreement, SeatAction, follow_record, play_continuation
from arena.rerun.worth import Worth, describe_difference, measure_worth, total_worths
from arena.runs.in_process import make_players
from arena.store.result_queries import record_of
from arena.store.store import Store
from bots import Bot, play
from bots.playing.local_match import LocalClient
from library import SILENCE, Entrant, Library
from machine.code_timer import CodeTimer
from measuring.value_registry import load_value
from protocol.bot_launch import parse_bot_spec
from protocol.games import load_game, shared_game
from protocol.games.base import Game
from referee import record_reader
from referee.in_process import InProcessPlayers, SeatPlayer
from referee.record import Ply, Record, Sealed

FILE = Path(rerun_bots.__file__)
NEITHER = "none"


def named(name: str, bot: str) -> str:
    """A bot as words have it: `First` is one of the file, `random` a reference bot."""
    return f"{name}={f'{FILE}:{bot}' if bot[0].isupper() else bot}"


def own(name: str, bot: str) -> Bot | None:
    """A bot of the file in this very process, as its program in another module would be."""
    made: type[Bot] | None = getattr(rerun_bots, bot, None)
    return None if made is None else made(name)


def recorded(game: str, bots: list[str], config: dict[str, Any] | None = None, seed: int = 1) -> Record:
    made = [own(f"bot-{seat}", bot) or named(f"bot-{seat}", bot) for seat, bot in enumerate(bots)]
    return play(made, game, seed=seed, config=config).record


def players(record: Record, bots: list[str]) -> InProcessPlayers:
    specs = [parse_bot_spec(named(f"bot-{seat}", bot), "s") for seat, bot in enumerate(bots)]
    return make_players(specs, shared_game(record.header.game, record.header.config), strict=True)


def followed(record: Record, seat: int, bot: str) -> RecordAgreement:
    name = record.header.seats[seat].bot
    made = own(name, bot)
    assert made is not None

    def listen(seed: str) -> SeatPlayer:
        client = LocalClient(made, name, seed, game_of(record), print)
        return lambda message: [said for _, said in client.send(message, CodeTimer())]

    return follow_record(record, seat, listen, [name, "another"])


def game_of(record: Record) -> Game[Any, Any]:
    return shared_game(record.header.game, record.header.config)


def moves_of(record: Record) -> Counter[int]:
    made: Counter[int] = Counter()
    for line in record.lines:
        if isinstance(line, Sealed):
            made[line.seat] += 1
        elif isinstance(line, Ply) and line.event.out is None and line.event.seat >= 0:
            made[line.event.seat] += 1
    return made


def continued(
    record: Record, seat: int, new: list[str], old: list[str], many: int, value: str | None = None
) -> list[Continuation]:
    fork = followed(record, seat, new[seat]).fork
    assert fork is not None
    by = load_value(game_of(record), value)
    on_old, on_new = BranchPlayers(players(record, old), "old"), BranchPlayers(players(record, new), "new")
    return [play_continuation(fork, number, "1", on_old, on_new, by) for number in range(many)]


@pytest.mark.parametrize(
    ("game", "config"),
    [
        ("nim", {"start": "p-position", "heaps": [5, 5, 5]}),
        ("tictactoe", {}),
        ("dilemma", {"rounds": 12, "noise": "0.2", "go_on": "0.9"}),
        ("leduc", {"hands": 4}),
        ("risk-duel", {"max_plies": 20}),
        ("risk-campaign", {"players": 3, "max_rounds": 3}),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_the_very_same_bot_is_told_the_same_and_makes_every_move_again(game: str, config: dict[str, Any]) -> None:
    seats = load_game(game, config).seats
    rerun_bots.HEARD.clear()
    record = recorded(game, ["Noting"] * seats, config)
    heard = rerun_bots.HEARD.pop(record.header.match)
    for seat in range(seats):
        again = followed(record, seat, "Noting")
        assert again == (moves_of(record)[seat], None, True)
        theirs = [told for told in heard if told[0] == f"bot-{seat}"]
        assert rerun_bots.HEARD.pop(record.header.match) == theirs


def test_of_whom_it_is_not_known_what_it_drew_lots_by_that_is_said() -> None:
    record = recorded("nim", ["random", "random"])
    name = record.header.seats[0].bot
    listen = players(record, ["random", "random"]).join_seat
    assert not follow_record(record, 0, lambda seed: listen(name, f"not {seed}"), [name]).has_recorded_randomness


def test_a_seat_without_a_seed_is_refused() -> None:
    record = recorded("nim", ["First", "First"])
    with pytest.raises(ValueError, match=r"^seat 1 has no seed: its bot needs one$"):
        follow_record(record, 1, lambda seed: pytest.fail("no seed, no bot"), [])


def test_a_difference_is_told_with_both_moves_and_what_each_came_to() -> None:
    record = recorded("nim", ["First", "First"], {"heaps": [1, 2]})
    again = followed(record, 0, "Last")
    assert again.fork is not None
    assert (again.moves, again.fork.ply, again.fork.recorded_action.move, again.fork.new_action) == (
        0,
        0,
        (0, 1),
        SeatAction((1, 2)),
    )
    # 1-2: after "1 of heap 0" first moves are 1 of heap 1, then the last: won. After "2 of heap 1" the other wins.
    found = continued(record, 0, ["Last", "First"], ["First", "First"], 10)
    game = game_of(record)
    worth = measure_worth(describe_difference(record.header, 0, game, again, {}), found, load_value(game), game)
    assert (worth.old, worth.new, worth.worth.mean) == (1.0, 0.0, -1.0)
    assert worth.kinds["theory"] == "won"


def test_continuations_that_went_alike_leave_room_for_those_that_have_not_come_yet() -> None:
    ten = worth(1.0, "early").worth
    assert ten.low == pytest.approx(0.05**0.1)  # as if one in four more had gone the other way
    assert ten.high > 1.0


def test_both_ways_are_played_on_with_the_right_bots_and_fresh_coins_whose_luck_is_taken_out() -> None:
    config = {"rounds": 2, "noise": "0.2"}
    record = recorded("dilemma", ["First", "First"], config)
    found = continued(record, 0, ["Last", "First"], ["First", "First"], 100)
    game = game_of(record)
    pays = game.config["payoffs"]
    cooperates, defects = (0.8, 0.2), (0.2, 0.8)
    old, new = (
        2 * sum(mine[a] * cooperates[b] * pays[a][b][0] for a in (0, 1) for b in (0, 1))
        for mine in (cooperates, defects)
    )
    first = describe_difference(record.header, 0, game, followed(record, 0, "Last"), {})
    measured = measure_worth(first, found, load_value(game), game)
    assert measured.value == "mean-1"
    assert abs(measured.raw.mean - (new - old)) < 3 * measured.raw.error
    assert measured.worth.mean == pytest.approx(
        new - old
    )  # coins are all the chance there is, and all of it is taken out
    assert measured.worth.error < measured.raw.error / 100


def test_both_ways_have_the_same_deals() -> None:
    record = recorded("kuhn", ["First", "First"], {"hands": 40})
    found = continued(record, 0, ["LastAtFirst", "First"], ["First", "First"], 8, NEITHER)
    assert stdev([each.old for each in found]) > 4
    assert max(abs(each.new - each.old) for each in found) <= 6  # three chips more or less, of one hand or two
    assert len({each.old for each in found}) > 4


def test_what_the_others_chose_in_the_round_stays_whoever_plays_on() -> None:
    record = recorded("dilemma", ["First", "Last"], {"rounds": 1})
    assert [(each.old, each.new) for each in continued(record, 0, ["Last", "First"], ["First"] * 2, 1)] == [(0.0, 1.0)]


@pytest.mark.parametrize("ends", SILENCE)
def test_where_the_recorded_bot_left_the_new_one_plays_on(tmp_path: Path, ends: str) -> None:
    store = Store.open(tmp_path / "arena.db")
    one, other = Entrant("bot-0", rerun_bots.First, ends=ends, at=2), Entrant("bot-1", rerun_bots.First)
    match = Library(store).play("nim", [one, other], {"heaps": [1, 1, 1]})
    body = store.read(record_of, match)
    assert body is not None
    record = record_reader.read_record(body, match)
    fork = followed(record, 0, "First").fork
    assert fork is not None
    assert (fork.ply, fork.recorded_action.out, fork.new_action) == (2, record.footer.reason, SeatAction((2, 1)))
    both = ["First", "First"]
    assert [(each.old, each.new) for each in continued(record, 0, both, both, 2)] == [(0.0, 1.0)] * 2
    assert followed(record, 0, "GivesUp").fork is None  # it is lost either way


def test_a_bot_that_leaves_has_lost_from_there_on() -> None:
    record = recorded("nim", ["First", "First"], {"heaps": [1, 1, 1]})
    fork = followed(record, 0, "GivesUp").fork
    assert fork is not None
    assert fork.new_action == SeatAction(out="resigned")
    found = continued(record, 0, ["GivesUp", "First"], ["First", "First"], 1)
    assert [(each.old, each.new) for each in found] == [(1.0, 0.0)]


def test_bots_come_in_as_after_a_restart_with_all_events_so_far_and_whoever_forfeits_is_named() -> None:
    record = recorded("nim", ["First", "First"], {"heaps": [2, 2, 2]})
    both = ["First", "Forgetful"]
    (found,) = continued(record, 1, both, ["Historian", "Historian"], 1)
    assert (found.new, found.forfeits) == (0.0, ("new",))


def test_the_new_bot_keeps_its_strikes() -> None:
    record = recorded("nim", ["First", "First"], {"heaps": [1] * 5})
    (found,) = continued(record, 0, ["Careless", "First"], ["First", "First"], 1)
    assert (found.old, found.new, found.forfeits) == (1.0, 0.0, ("new",))


def test_of_more_than_two_seats_the_others_play_on_the_same_for_the_same_seed() -> None:
    config = {"players": 3, "max_rounds": 2}
    record = recorded("risk-campaign", ["First"] * 3, config)
    found = continued(record, 1, ["First", "Last", "First"], ["First"] * 3, 3, NEITHER)
    assert found == continued(record, 1, ["First", "Last", "First"], ["First"] * 3, 3, NEITHER)
    assert {each.old for each in found} | {each.new for each in found} <= {0.0, 0.25, 0.5, 0.75, 1.0}


def worth(mean: float, kind: str, match: str = "m") -> Worth:
    """Of ten continuations that all differ by so much; of none where the kind is empty."""
    found = [Continuation(0.0, mean, 0.0, 0.0) for _ in range(10)]
    record = recorded("nim", ["First", "First"], {"heaps": [1]})
    game = game_of(record)
    first = describe_difference(record.header, 0, game, followed(record, 0, "First"), {})
    if not kind:
        return measure_worth(first, [], load_value(game), game)
    return measure_worth(replace(first, match=match, ply=0, kinds={"phase": kind}), found, load_value(game), game)


def test_matches_are_summed_by_kind_of_position_the_best_first() -> None:
    (total,) = total_worths([worth(-1.0, "late"), worth(0.5, "early"), worth(1.0, "early"), worth(0.0, "")])
    assert (total.matches, total.same, total.better, total.worse, total.worth.mean) == (4, 1, 2, 1, 0.5)
    assert [(row.kind, row.matches, row.better, row.worse, row.worth.mean) for row in total.kinds] == [
        ("early", 2, 2, 0, 1.5),
        ("late", 1, 0, 1, -1.0),
    ]
    assert total.a_match is not None
    assert total.a_match.mean == 0.125
    assert total.a_match.low < 0 < total.a_match.high
