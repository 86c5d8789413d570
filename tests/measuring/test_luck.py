"""The luck of a match: without bias whatever value measures it, and the same from a record and along its moves."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from msgspec.structs import replace

from games.risk.rules.campaign import Attack, Campaign
from games.risk.rules.campaign import Position as CampaignPosition
from games.risk.rules.duel import Duel, Position
from golden import make
from machine.compiled import HAS_NUMBA
from measuring.luck import MAX_OUTCOME_STATES, Luck, luck_along, luck_of
from measuring.value_registry import load_value, quick_value_names, value_names
from protocol.dice import Dice
from protocol.errors import BadRecord, UsageFault
from protocol.games import load_game, payoff_unit
from protocol.games.base import Game
from protocol.reasons import VOID
from referee import record_reader
from referee.record import Record
from referee.replay import replay

DUEL = Duel({"max_troops": 5})
CROSSED = Position((0, 1, 0, 1), (4, 3, 2, 3), 0, 9)
CAMPAIGN = Campaign({"map": "south-america"})
AT_WAR = CampaignPosition((0, 0, 1, 1), (3, 4, 2, 3), "attack", 0, 3, 2, (), 0, 9)
THREE = Campaign({"map": "south-america", "players": 3})
THREE_AT_WAR = CampaignPosition((0, 0, 1, 2), (3, 4, 2, 3), "attack", 0, 3, 2, (), 0, 9)

SIX = Campaign({"map": "world", "players": 6, "draft": "classic"})
SIX_AT_WAR = CampaignPosition(tuple(at * 6 // 42 for at in range(42)), (3,) * 42, "attack", 0, 3, 2, (), 2, 9)

games = pytest.mark.parametrize(
    ("game", "state"),
    [(DUEL, CROSSED), (CAMPAIGN, AT_WAR), (THREE, THREE_AT_WAR), (SIX, SIX_AT_WAR)],
    ids=["duel", "campaign", "three", "six"],
)
records = pytest.mark.parametrize("name", [name for name, made in make.GOLDEN.items() if not payoff_unit(made.game)])


def golden(name: str) -> Record:
    return record_reader.read_record(make.HERE.joinpath(f"{name}.jsonl").read_bytes(), name)


def courses(game: Game[Any, Any], state: Any, plies: int) -> Iterator[tuple[Fraction, list[tuple[Any, Any, Any]]]]:
    """Every way that a game may take over so many plies, with its probability; the most daring attack is made."""
    if plies == 0 or game.to_move(state) is None:
        yield Fraction(1), []
        return
    attacks = [
        move for move in game.legal_moves(state) if isinstance(move, Attack) or getattr(move, "do", "") == "attack"
    ]
    move = (attacks or game.legal_moves(state))[0]
    for chance, after in game.outcomes(state, move):
        for further, rest in courses(game, after, plies - 1):
            yield chance * further, [(state, move, after), *rest]


@games
def test_over_all_dice_of_two_plies_luck_comes_to_nothing_by_every_value(game: Game[Any, Any], state: Any) -> None:
    ways = list(courses(game, state, 2))
    assert sum(chance for chance, _ in ways) == 1
    assert len(ways) > 3
    for name in value_names(game):
        value = load_value(game, name)
        lucks = [(float(chance), luck_along(game, value, plies)) for chance, plies in ways]
        for seat in range(game.seats):
            assert sum(chance * luck.total[seat] for chance, luck in lucks) == pytest.approx(0, abs=1e-12)
        if name != "none":
            assert any(abs(luck.total[0]) > 0.01 for _, luck in lucks)


@games
def test_what_one_seat_is_given_the_others_lose(game: Game[Any, Any], state: Any) -> None:
    for name in value_names(game):
        for _, plies in courses(game, state, 2):
            luck = luck_along(game, load_value(game, name), plies)
            assert sum(luck.total) == pytest.approx(0, abs=1e-12)
            assert all(sum(event.luck) == pytest.approx(0, abs=1e-12) for event in luck.events)


def test_a_territory_taken_is_the_attackers_luck_and_one_held_the_defenders() -> None:
    (_, taken), (_, held) = DUEL.outcomes(CROSSED, (move := DUEL.legal_moves(CROSSED)[-1]))
    for name in value_names(DUEL)[:-1]:
        value = load_value(DUEL, name)
        assert luck_along(DUEL, value, [(CROSSED, move, taken)]).total[0] > 0
        assert luck_along(DUEL, value, [(CROSSED, move, held)]).total[0] < 0


@pytest.mark.parametrize(("units", "measured"), [(400, 1), (401, 0)])
def test_a_battle_that_is_too_large_to_go_through_is_left_out_before_its_dice_are_looked_at(
    units: int, measured: int
) -> None:
    before = AT_WAR._replace(troops=(3, units + 1, MAX_OUTCOME_STATES // 400, 3))
    move = Attack(2, 1, units)
    after = CAMPAIGN.apply(before, move, Dice(b"dice", 9))[0]
    assert len(luck_along(CAMPAIGN, load_value(CAMPAIGN), [(before, move, after)]).events) == measured


def test_more_than_two_seats_are_marked_as_an_estimate() -> None:
    assert luck_along(THREE, load_value(THREE), []).estimate
    assert not luck_along(CAMPAIGN, load_value(CAMPAIGN), []).estimate


@records
def test_a_record_has_the_luck_of_its_moves(name: str) -> None:
    record = golden(name)
    game = load_game(record.header.game, record.header.config)
    plies, before = [], None
    for line, course in replay(record):
        event = getattr(line, "event", None)
        if event is not None and event.out is None and event.seat >= 0:
            plies.append((before, game.decode_move(event.move), course.state))
        before = course.state
    for value in (load_value(game, name) for name in value_names(game)):
        assert luck_of(record, value) == luck_of(record, value.name) == luck_along(game, value, plies)


@pytest.mark.parametrize("ends", [{"leaves": 10}, {"late": 10}], ids=["resigned", "late"])
@pytest.mark.parametrize("name", ["duel-south-america", "campaign-dice"])
def test_a_match_that_a_seat_leaves_keeps_the_luck_so_far(name: str, ends: dict[str, int]) -> None:
    whole = luck_of(golden(name))
    cut = luck_of(record_reader.read_record(make.make(name, make.GOLDEN[name]._replace(**ends)), name))
    assert cut.events == tuple(event for event in whole.events if event.ply < 10)
    assert cut.events != whole.events
    assert cut.total == tuple(sum(event.luck[seat] for event in cut.events) for seat in range(2))
    assert cut.total[0] != 0


def test_seats_that_play_on_have_the_luck_of_all_their_moves() -> None:
    luck = luck_of(golden("campaign-drop-out"))
    assert {event.seat for event in luck.events if event.ply > 9} == {0, 2}


def test_a_match_that_was_called_off_before_it_began_had_no_luck() -> None:
    record = golden("duel-south-america")
    void = Record(record.header, [], replace(record.footer, reason=VOID))
    assert luck_of(void).total == (0, 0)


def test_a_record_under_a_config_that_no_game_has_is_refused_as_a_record() -> None:
    record = golden("duel-south-america")
    with pytest.raises(BadRecord, match="the header: risk-duel: there is no map 'atlantis'"):
        luck_of(Record(replace(record.header, config={"map": "atlantis"}), record.lines, record.footer))


def test_games_without_dice_have_no_luck() -> None:
    for name in ("nim-classic", "campaign-deterministic"):
        luck = luck_of(golden(name))
        assert luck == Luck(value="none", estimate=False, events=(), total=(0.0, 0.0))


def test_a_value_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(
        UsageFault, match=r"risk-campaign under this config has no value function 'exact': it has features-1, none"
    ):
        load_value(CAMPAIGN, "exact")
    with pytest.raises(
        UsageFault, match="nim under this config has no value function 'exact': it has no chance, so no luck"
    ):
        load_value(load_game("nim"), "exact")


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
def test_a_duel_that_is_solved_is_measured_by_its_table() -> None:
    assert load_value(DUEL).name == "exact"
    assert load_value(Duel({"map": "africa"})).name == "fitted-1"


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
def test_a_table_that_takes_minutes_to_solve_is_there_for_who_asks() -> None:
    assert value_names(Duel({"max_troops": 30})) == ("fitted-1", "general-1", "features-1", "exact", "none")


def test_where_the_limit_of_plies_is_low_features_come_before_constants_of_another_map() -> None:
    """A third of the troops times the square of the territories: 163 plies in Europe, 480 in Asia."""
    best = [
        value_names(Duel({"map": name, "max_plies": plies}))[0]
        for name, plies in (("europe", 163), ("europe", 164), ("asia", 400), ("asia", 480), ("africa", 100))
    ]
    assert best == ["features-1", "general-1", "features-1", "general-1", "fitted-1"]


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
def test_what_takes_minutes_to_make_is_left_out_where_values_are_gone_through() -> None:
    assert quick_value_names(DUEL) == value_names(DUEL)[:-1]
    assert quick_value_names(Duel({"max_troops": 30})) == ("fitted-1", "general-1", "features-1")
    assert quick_value_names(load_game("kuhn")) == ()


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
def test_which_values_there_are_is_known_without_numba() -> None:
    script = "import sys; from measuring.value_registry import value_names; from protocol.games import load_game; "
    script += "print(value_names(load_game('risk-duel'))[0], 'numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "exact False\n"
