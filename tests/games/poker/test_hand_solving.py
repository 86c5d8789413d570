"""Equilibria of poker: solved, judged by the best response, shipped, written and read; and what `solve` prints."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from commands import REPOSITORY, call
from games.poker.strategies import (
    KUHN_VALUE,
    LEDUC_FILE,
    PROBABILITY_UNITS,
    SOLVED_GAMES,
    equilibrium_of,
    read_table,
    single_hand,
    write_table,
)
from machine.exact.hand_solving import Solver, Strategy, best_response, exploitability, strategy_value
from protocol.errors import UsageFault

LEDUC_VALUE = -0.085606
"""As the literature has it, to who moves first."""


def uniform(strategy: Strategy) -> dict[tuple[int, object], tuple[Fraction, ...]]:
    return {key: (Fraction(1, len(chances)),) * len(chances) for key, chances in strategy.items()}


@pytest.mark.parametrize("seat", [0, 1])
def test_a_best_response_in_kuhn_is_the_best_of_all_pure_strategies(seat: int) -> None:
    rules, start = single_hand("kuhn")
    other = uniform(equilibrium_of("kuhn"))
    keys = [key for key in other if key[0] == seat]
    found = []
    for choice in product((0, 1), repeat=len(keys)):
        pure = {key: tuple(Fraction(at == each) for at in (0, 1)) for key, each in zip(keys, choice, strict=True)}
        worth = strategy_value(rules, start, {**other, **pure})
        found.append(worth if seat == 0 else -worth)
    assert len(found) == 64
    assert best_response(rules, start, other, seat) == max(found)


def test_what_can_be_exploited_falls_as_rounds_go_on_to_the_value_of_the_game() -> None:
    rules, start = single_hand("kuhn")
    solver = Solver(rules, start)
    left = []
    for rounds in (10, 90, 900):
        solver.run(rounds)
        left.append(exploitability(rules, start, solver.strategy()))
    assert left[0] > 10 * left[1] > 0
    assert left[2] < 0.0002
    assert strategy_value(rules, start, solver.strategy()) == pytest.approx(float(KUHN_VALUE), abs=0.0001)


def test_a_game_whose_moves_contain_dice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, start = single_hand("kuhn")
    plain = rules.outcomes
    monkeypatch.setattr(rules, "outcomes", lambda state, move: [*plain(state, move)] * 2)
    with pytest.raises(UsageFault, match="kuhn can't be solved by CFR"):
        Solver(rules, start)


def test_rounds_at_once_or_in_pieces_come_to_the_same() -> None:
    rules, start = single_hand("kuhn")
    whole, pieces = Solver(rules, start), Solver(rules, start)
    whole.run(50)
    for rounds in (1, 20, 29):
        pieces.run(rounds)
    assert whole.strategy() == pieces.strategy()


def test_the_shipped_table_of_leduc_cannot_be_exploited_by_a_thousandth_of_an_ante_a_hand() -> None:
    rules, start = single_hand("leduc")
    strategy, facts = read_table(LEDUC_FILE, rules, start)
    assert len(strategy) == 288
    assert exploitability(rules, start, strategy) < 0.00002
    assert strategy_value(rules, start, strategy) == pytest.approx(LEDUC_VALUE, abs=0.00001)
    assert facts["value"] == pytest.approx(LEDUC_VALUE, abs=0.00001)
    assert 0 < facts["exploitability"] < 0.00001


@pytest.mark.parametrize("game", SOLVED_GAMES)
def test_a_table_is_read_as_it_was_written(game: str, tmp_path: Path) -> None:
    rules, start = single_hand(game)
    write_table(tmp_path / "t.json", rules, equilibrium_of(game), {"rounds": 3})
    strategy, facts = read_table(tmp_path / "t.json", rules, start)
    assert strategy.keys() == equilibrium_of(game).keys()
    for key, chances in strategy.items():
        assert sum(round(chance * PROBABILITY_UNITS) for chance in chances) == PROBABILITY_UNITS
        assert chances == pytest.approx(
            [float(chance) for chance in equilibrium_of(game)[key]], abs=2 / PROBABILITY_UNITS
        )
    assert facts["rounds"] == 3


def test_thirds_are_written_so_that_they_sum_to_one(tmp_path: Path) -> None:
    rules, start = single_hand("leduc")
    write_table(tmp_path / "t.json", rules, uniform(equilibrium_of("leduc")), {})
    strategy, _ = read_table(tmp_path / "t.json", rules, start)
    assert (0.333334, 0.333333, 0.333333) in strategy.values()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"game": "kuhn"', '"game": "leduc"'),
        ("[333333, 666667]", "[333333, 666666]"),
        ("[333333, 666667]", "[-333333, 1333333]"),
        ("[333333, 666667]", "[1000000]"),
        ('"0 J - kb"', '"0 J - kk"'),
        ("}}", "}"),
    ],
)
def test_a_table_that_is_none_of_the_game_is_refused_in_a_line(before: str, after: str, tmp_path: Path) -> None:
    rules, start = single_hand("kuhn")
    file = tmp_path / "t.json"
    write_table(file, rules, equilibrium_of("kuhn"), {})
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after))
    with pytest.raises(UsageFault, match=r"t\.json is not a table of kuhn: ") as caught:
        read_table(file, rules, start)
    assert "\n" not in str(caught.value)


def test_a_game_without_an_equilibrium_is_refused() -> None:
    with pytest.raises(UsageFault, match="no equilibrium of nim is known: kuhn and leduc have one"):
        equilibrium_of("nim")


def test_perfect_plays_leduc_where_neither_numpy_nor_numba_is() -> None:
    program = (
        "import sys\n"
        "class Blocked:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name.partition('.')[0] in ('numpy', 'numba', 'scipy'): raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Blocked())\n"
        "from bots import play\n"
        "print(play(['perfect', 'perfect'], 'leduc', seed=1).result.reason)\n"
    )
    env = {"ARENA_PLAIN": "1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=REPOSITORY, env=env)
    assert done.stderr == ""
    assert done.stdout.strip() in ("win", "draw")


def test_solve_prints_what_a_hand_is_worth_and_what_can_be_exploited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "games.poker.commands._PROGRESS_INTERVAL_S", 600.0
    )  # a busy machine would be told how far it is
    file = tmp_path / "kuhn.json"
    done = call("arena-bot", "solve", "kuhn", "--rounds", "1000", "--write", str(file))
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[1:3] == [
        "value           -0.055556 chips a hand, for the first mover",
        "exploitability  8.7e-05 chips a hand",
    ]
    rules, start = single_hand("kuhn")
    strategy, facts = read_table(file, rules, start)
    assert exploitability(rules, start, strategy) == pytest.approx(facts["exploitability"], abs=0.00001)


def test_solve_tells_programs_in_json_what_it_found(tmp_path: Path) -> None:
    done = call("arena-bot", "solve", "leduc", "--rounds", "100", "--json")
    told = json.loads(done.out)
    assert told["exploitability"] == pytest.approx(0.0134, abs=0.001)
    assert (told["game"], told["decisions"], told["rounds"], told["file"]) == ("leduc", 288, 100, None)


def test_solve_takes_as_many_rounds_as_its_help_says() -> None:
    told = json.loads(call("arena-bot", "solve", "kuhn", "--json").out)
    assert f"rounds of the algorithm [{told['rounds']:,}]" in " ".join(call("arena-bot", "solve", "--help").out.split())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["kuhn", "--rounds", "0"], "--rounds is 0: it must be 1 to 1,000,000"),
        (["kuhn", "--jobs", "2"], "kuhn takes only the options --rounds and --write"),
        (
            ["leduc", "--preset", "short"],
            "leduc takes only the options --rounds and --write",
        ),
        (["risk-duel", "--rounds", "5"], "risk-duel takes only the options --preset, --config and --jobs"),
        (
            ["kuhn", "--write", "no/such/t.json"],
            "--write no/such/t.json can't be written: name a file in an existing folder",
        ),
        (["dilemma"], "this command does not solve dilemma: give risk-duel, kuhn or leduc"),
    ],
)
def test_solve_says_in_a_line_what_it_cannot(words: list[str], says: str) -> None:
    done = call("arena-bot", "solve", *words)
    assert (done.code, done.out, done.err) == (2, "", f"arena-bot: {says}\n")
