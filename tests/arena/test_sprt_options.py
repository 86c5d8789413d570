"""What `arena test` refuses: in one line, before anything is played, with nothing left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from arena.commands import sprt
from arena.commands.sprt import SprtOptions, read_options, split_by_opponent
from commands import call

DUEL = ("greedy", "random", "--game", "risk-duel")
NIM = ("greedy", "random", "--game", "nim")
THREE = ("greedy", "random", "--game", "risk-campaign", "--set", "players=3")
REFUSED = [
    (("greedy", "random"), "--game is missing: one of nim, grundy, tictactoe, "),
    (("greedy", "--game", "nim"), "a test needs two bots or more: 1 given"),
    (
        ("greedy", "random", "perfect", "--game", "nim", "--pairs", "5"),
        "--pairs is for two bots: a test of one against several needs hypotheses",
    ),
    (
        ("greedy", "random", "perfect", "--game", "nim", "--alpha", "0.6"),
        "--alpha and --beta must be above 0 and below 0",
    ),
    (
        ("greedy", "greedy", "--game", "nim"),
        "two bots are called 'greedy': give one another name, like greedy-2=BOT",
    ),
    (
        ("greedy", "x=random", "x=perfect", "--game", "nim"),
        "two bots are called 'x': give one another name, like x-2=BOT",
    ),
    (("greedy", "gredy", "--game", "nim"), "there is no bot 'gredy': one of "),
    (("greedy", "random", "--game", "chess"), "there is no game 'chess': one of nim, "),
    ((*NIM, "--seats", "2"), "--seats is 2: nim has two seats under this config, one for each bot"),
    ((*THREE, "--seats", "3"), "--seats is 3: the first bot may have 1 to 2 of the 3 seats"),
    ((*THREE, "--unit", "nelo", "--h1", "5"), "normalised Elo needs pairs: --unit nelo is for two seats"),
    (
        ("greedy", "greedy-2=random", "--game", "risk-campaign", "--set", "players=3", "--seats", "2"),
        "two bots are called 'greedy-2': give one another name, like greedy-2-2=BOT",
    ),
    (
        ("random", "random-2=random", "--game", "dilemma"),
        "a test compares wins, which are not what counts here: payoffs of dilemma don't sum to zero under "
        "this config: `arena tournament` compares payoffs",
    ),
    ((*DUEL, "--h0", "0.02", "--h1", "0.02"), "h1 is 0.02: it must be more than h0, which is 0.02"),
    ((*NIM, "--h1", "1e-20"), "h1 is 1e-20: it must be more than h0, which is 0, by 5e-07 at least"),
    ((*DUEL, "--h0", "0.02"), "--h1 is missing: give both hypotheses, like --h0 0 --h1 0.02"),
    ((*DUEL, "--unit", "elo"), "--h1 is missing: "),
    ((*DUEL, "--h1", "2"), "h1 is 2: it must be a score between -0.5 and 0.5"),
    ((*DUEL, "--h1", "nan"), "h1 is nan: it must be a score between -0.5 and 0.5"),
    ((*DUEL, "--h1", "5", "--unit", "points"), "unit is 'points': one of score, elo, nelo"),
    (
        (*DUEL, "--h1", "5", "--unit", "nelo"),
        "normalised Elo is computed from results with luck left in: add --no-luck-adj",
    ),
    ((*DUEL, "--alpha", "0.5"), "alpha is 0.5: it must be above 0 and below 0.5"),
    ((*DUEL, "--beta", "0"), "beta is 0: it must be above 0 and below 0.5"),
    ((*NIM, "--alpha", "1e-310"), "alpha is 1e-310: it must be 1e-12 at least"),
    (("perfect", *NIM, "--beta", "1e-310"), "beta is 1e-310: it must be 1e-12 at least"),
    ((*DUEL, "--value", "best"), "risk-duel under this config has no value function 'best': it has exact, "),
    (
        ("random", "perfect", "--game", "kuhn", "--value", "equilibrium"),
        "--value equilibrium: luck in kuhn is counted in",
    ),
    ((*NIM, "--value", "exact"), "nim under this config has no value function 'exact': it has no chance, so no luck"),
    (
        (*DUEL, "--value", "exact", "--no-luck-adjustment"),
        "--no-luck-adjustment leaves luck in the results, --value exact takes it out: give one of them",
    ),
    ((*NIM, "--pairs", "0"), "--pairs is 0: it is 1 to 100000"),
    ((*NIM, "--max-pairs", "100001"), "--max-pairs is 100001: it is 1 to 100000"),
    (
        (*NIM, "--pairs", "5", "--h1", "0.1"),
        "--pairs plays that many pairs and tests no hypothesis: leave out --h0, ",
    ),
    (("greedy", "oracle", "--game", "nim"), "oracle does not play nim: it plays risk-duel"),
    (
        (*NIM, "--jobs", "2", "--dask", "tcp://localhost:1"),
        "--jobs is for this machine, --dask for a cluster: give one",
    ),
    ((*NIM, "--clock", "soon"), "clock is 'soon': it must be seconds and increment"),
    ((*NIM, "--jobs", "0"), "--jobs is 0: it is 1 to 1024"),
    ((*NIM, "--sandbox", "glass"), "there is no sandbox 'glass': one of none, users, bwrap"),
    ((*NIM, "--json", "nowhere/out.json"), "--json nowhere/out.json can't be written"),
]


@pytest.mark.parametrize(("words", "says"), REFUSED, ids=[" ".join(words) for words, _ in REFUSED])
def test_what_cannot_be_meant_is_refused_in_one_line(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = call("arena", "test", *words, "--data", str(tmp_path / "data"))
    assert done.err.startswith(f"arena: {says}")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert list(tmp_path.iterdir()) == []


COMMON: dict[str, Any] = {
    "bots": ["greedy", "random"],
    "game": "risk-duel",
    "sets": [],
    "clock": "10",
    "seed": None,
    "jobs": None,
    "db": None,
    "data": Path("data"),
    "to_json": None,
}


def test_what_is_asked_is_kept_in_the_arguments_and_how_many_pairs_at_most_is_not() -> None:
    setup, question = read_options(SprtOptions(**COMMON))
    assert setup.arguments["test"] == {
        "hypotheses": {"h0": 0.0, "h1": 0.02, "unit": "score", "alpha": 0.05, "beta": 0.05},
        "value": "exact",
    }
    assert question.value == "exact"
    assert read_options(SprtOptions(**COMMON, max_pairs=5))[0].key == setup.key
    assert read_options(SprtOptions(**COMMON, h1=0.03))[0].key != setup.key
    assert read_options(SprtOptions(**COMMON, no_luck_adjustment=True))[0].key != setup.key
    assert read_options(SprtOptions(**COMMON, pairs=5))[0].arguments["rounds"] == 5


def test_against_several_each_test_has_its_share_of_the_errors() -> None:
    options = SprtOptions(**{**COMMON, "bots": ["greedy", "random", "equal=random", "perfect"], "game": "nim"})
    tests = [read_options(each) for each in split_by_opponent(options)]
    assert [[one.name for one in setup.contestants] for setup, _ in tests] == [
        ["greedy", "random"],
        ["greedy", "equal"],
        ["greedy", "perfect"],
    ]
    asked = [question.hypotheses for _, question in tests]
    assert {(each.alpha, each.beta) for each in asked if each is not None} == {(0.0166, 0.0166)}
    # One that was played against these alone is another test: it had no part in their errors.
    alone = read_options(SprtOptions(**{**COMMON, "game": "nim", "alpha": 0.0166, "beta": 0.0166}))[0]
    assert tests[0][0].key != alone.key


def test_with_more_than_two_seats_copies_of_both_bots_sit_in_all_of_them() -> None:
    options = SprtOptions(**{**COMMON, "game": "risk-campaign", "sets": ["preset=world"], "seats": 2})
    setup, question = read_options(options)
    names = [one.name for one in setup.contestants]
    assert names == ["greedy", "greedy-2", "random", "random-2", "random-3", "random-4"]
    assert [one.spec.bot for one in setup.contestants if one.spec] == ["greedy"] * 2 + ["random"] * 4
    assert (question.value, setup.strict) == (None, True)


def test_with_more_than_two_seats_the_verdict_on_several_bots_has_the_name_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sprt, "_run", lambda *_: {"findings": Mock(verdict="h1")})
    done = call("arena", "test", "greedy", "random", "raider", *THREE[2:], "--seed", "1", "--data", str(tmp_path))
    assert done.out.lstrip().startswith("greedy is better than each of random, raider. "), done.err
