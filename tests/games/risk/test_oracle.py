"""The oracle plays what the table says, and says in one line where there is none."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest

from bots.client.bot import Choice, GiveUp
from bots.reference.random_bot import RandomBot
from commands import call
from games.risk.bots import Oracle, load_table
from games.risk.exact import shape as duel_shape
from games.risk.exact import table as duel
from games.risk.exact.shape import shape_of
from games.risk.exact.solving import solve_mapped
from games.risk.rules.duel import Position
from machine.compiled import HAS_NUMBA, zeros
from protocol.errors import UsageFault
from protocol.games import load_game
from protocol.games.base import NO_DICE
from protocol.messages import Clock, Player, Start
from turns import play, turn

pytestmark = pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
SMALL = load_game("risk-duel", {"map": "australia", "max_troops": 4})


def start(config: dict[str, Any]) -> Start:
    players = [Player(bot="oracle"), Player(bot="random")]
    clock = Clock(bank_ms=1000, increment_ms=0)
    return Start(
        match="m-1",
        game="risk-duel",
        config=config,
        seat=0,
        seats=players,
        clock=clock,
        commitment="0" * 64,
        rated=True,
    )


def result(seat: int, seed: int) -> int:
    """How a game of the oracle on `seat` against random moves ends for it."""
    bots = [Oracle("oracle"), RandomBot("random")]
    first = SMALL.initial(NO_DICE)[0]
    state, _ = play(SMALL, bots if seat == 0 else bots[::-1], first, str(seed), str(seed).encode())
    return (SMALL.ranks(state)[1 - seat] > 1) - (SMALL.ranks(state)[seat] > 1)


def test_the_oracle_plays_each_of_the_best_moves_and_no_other_and_tells_what_to_expect() -> None:
    oracle, table = Oracle("oracle"), load_table(SMALL)
    chance = random.Random(1)
    for _ in range(50):
        holders = [chance.randrange(2) for _ in range(3)]
        position = Position((*holders, 1 - holders[0]), tuple(chance.randint(1, 4) for _ in range(4)), 0, 10)
        played = set()
        for seed in range(30):
            choice = oracle.choose(turn(SMALL, position, seed=str(seed)))
            assert isinstance(choice, Choice)
            assert choice.value == table.value(position)
            played.add(SMALL.decode_move(choice.move))
        assert played == set(table.best_moves(position))


@pytest.mark.parametrize("seat", [0, 1])
def test_the_oracle_scores_no_worse_than_its_table_predicts_and_well_against_random_moves(seat: int) -> None:
    results = [result(seat, seed) for seed in range(60)]
    sigma = stdev(results) / len(results) ** 0.5
    assert mean(results) > load_table(SMALL).start[seat] - 3 * sigma
    assert mean(results) > 0.2


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for tables with none in it, and none in memory; what a test leaves in memory is forgotten."""
    monkeypatch.setattr(duel, "cache_folder", lambda: tmp_path)
    duel.cached_table.cache_clear()
    yield tmp_path
    duel.cached_table.cache_clear()


def test_the_oracle_warms_up_with_the_preset_where_no_game_is_named(
    tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duel, "_solve_values", lambda shape: (zeros(shape.positions, float), 1))
    Oracle("oracle").warm_up(None)
    assert load_table(load_game("risk-duel")).positions == 194_481
    assert [path.stat().st_size > 8 * 194_481 for path in tables.iterdir()] == [True]


def test_a_map_that_is_too_large_ends_the_warm_up_and_costs_the_match() -> None:
    africa = load_game("risk-duel", {"map": "africa"})
    with pytest.raises(UsageFault, match="africa with 10 troops is too large to solve"):
        Oracle("oracle").warm_up(africa)
    with pytest.raises(GiveUp, match="africa with 10 troops is too large to solve"):
        Oracle("oracle").prepare(start(africa.config))
    Oracle("oracle").prepare(start(SMALL.config))


def test_the_oracle_plays_a_table_that_was_made_before_where_it_would_make_none(
    tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duel_shape, "MAX_POSITIONS_ON_DEMAND", 10_000)
    africa = load_game("risk-duel", {"map": "africa", "max_troops": 3})
    command = "`arena-bot solve risk-duel --config map=africa --config max_troops=3` first, or use"
    with pytest.raises(GiveUp, match=command):
        Oracle("oracle").prepare(start(africa.config))
    solve_mapped(shape_of(africa.map, 3), tables, 1, lambda sweep: None)
    oracle = Oracle("oracle")
    oracle.prepare(start(africa.config))
    choice = oracle.choose(turn(africa, africa.initial(NO_DICE)[0]))
    assert isinstance(choice, Choice)
    assert choice.move == {"do": "invade", "to": 2}
    assert choice.value == pytest.approx(-0.0649, abs=1e-4)


def test_the_oracle_without_numba_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duel_shape, "HAS_NUMBA", False)
    done = call("arena-bot", "run", "oracle", "--game", "risk-duel", "--patience", "1")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "needs numba: pip install numba" in done.err
