"""What `arena test` refuses: in one line, before anything is played, with nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena.commands.sprt import SprtOptions, read_options
from commands import call

DUEL = ("greedy", "random", "--game", "risk-duel")
NIM = ("greedy", "random", "--game", "nim")
REFUSED = [
    (("greedy", "random"), "--game is missing: one of nim, grundy, tictactoe, "),
    (("greedy", "--game", "nim"), "a test is of two bots: 1 given"),
    (("greedy", "random", "perfect", "--game", "nim"), "a test is of two bots: 3 given"),
    (
        ("greedy", "greedy", "--game", "nim"),
        "two bots are called 'greedy': give one another name, like greedy-2=BOT",
    ),
    (("greedy", "gredy", "--game", "nim"), "there is no bot 'gredy': one of "),
    (("greedy", "random", "--game", "chess"), "there is no game 'chess': one of nim, "),
    (
        ("greedy", "random", "--game", "risk-campaign", "--set", "players=3"),
        "a test is for two seats: risk-campaign has 3 under this config",
    ),
    (
        ("random", "random-2=random", "--game", "dilemma"),
        "a test asks who wins, and to win is not to be paid more here, as payoffs of dilemma don't sum to zero under "
        "this config: `arena tournament` compares payoffs",
    ),
    ((*DUEL, "--h0", "0.02", "--h1", "0.02"), "h1 is 0.02: it must be more than h0, which is 0.02"),
    ((*DUEL, "--h0", "0.02"), "--h1 is missing: what A has more than B if it is better, like --h0 0 --h1 0.02"),
    ((*DUEL, "--unit", "elo"), "--h1 is missing: "),
    ((*DUEL, "--h1", "2"), "h1 is 2: a score between -0.5 and 0.5"),
    ((*DUEL, "--h1", "nan"), "h1 is nan: a score between -0.5 and 0.5"),
    ((*DUEL, "--h1", "5", "--unit", "points"), "unit is 'points': one of score, elo, nelo"),
    (
        (*DUEL, "--h1", "5", "--unit", "nelo"),
        "normalised Elo is of results with luck left in: --unit nelo goes with --r",
    ),
    ((*DUEL, "--alpha", "0.5"), "alpha is 0.5: it must be above 0 and below 0.5"),
    ((*DUEL, "--beta", "0"), "beta is 0: it must be above 0 and below 0.5"),
    ((*DUEL, "--value", "best"), "risk-duel under this config has no value 'best': it has exact, "),
    (
        ("random", "perfect", "--game", "kuhn", "--value", "equilibrium"),
        "--value equilibrium: luck in kuhn is counted in",
    ),
    ((*NIM, "--value", "exact"), "nim under this config has no value 'exact': there is no chance in it, so none"),
    ((*DUEL, "--value", "exact", "--raw"), "--raw takes no luck out of results, --value exact does: one of them"),
    ((*NIM, "--pairs", "0"), "--pairs is 0: it is 1 to 100000"),
    ((*NIM, "--most", "100001"), "--most is 100001: it is 1 to 100000"),
    (
        (*NIM, "--pairs", "5", "--h1", "0.1"),
        "--pairs is for so many pairs, whatever they show: without --h0, --h1 and ",
    ),
    (("greedy", "oracle", "--game", "nim"), "oracle does not play nim: it plays risk-duel"),
    ((*NIM, "--jobs", "2", "--dask", "tcp://localhost:1"), "--jobs is of this machine, --dask of a cluster: give one"),
    ((*NIM, "--clock", "soon"), "clock is 'soon': it is seconds and increment"),
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


def test_what_is_asked_is_kept_in_the_arguments_and_how_many_pairs_at_most_is_not() -> None:
    common = {
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
    setup, question = read_options(SprtOptions(**common))
    assert setup.arguments["test"] == {
        "hypotheses": {"h0": 0.0, "h1": 0.02, "unit": "score", "alpha": 0.05, "beta": 0.05},
        "value": "exact",
    }
    assert question.value == "exact"
    assert read_options(SprtOptions(**common, most=5))[0].key == setup.key
    assert read_options(SprtOptions(**common, h1=0.03))[0].key != setup.key
    assert read_options(SprtOptions(**common, raw=True))[0].key != setup.key
    assert read_options(SprtOptions(**common, pairs=5))[0].arguments["rounds"] == 5
