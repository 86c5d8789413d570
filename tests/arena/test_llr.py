"""`arena llr`: the figures that other testers print of the same counts, as text and as JSON, and what it refuses."""

from __future__ import annotations

import json
import re

import pytest

from commands import call

FASTCHESS = ["379", "10170", "21828", "10640", "343"]


def test_counts_of_pairs_are_told_as_fishtest_and_fastchess_do() -> None:
    done = call("arena", "llr", *FASTCHESS, "--unit", "nelo", "--h1", "2")
    assert done.code == 0
    assert done.out.splitlines() == [
        "86,720 games in 43,360 pairs",
        "score           0.50229 (0.50055-0.50403)  better 99.5 %",
        "Elo             +1.59 (+0.39 to +2.80)",
        "normalised Elo  +3.05 (+0.74 to +5.36)",
        "The LLR is 2.9455: the test accepts h0 (0 normalised Elo) below -2.94,",
        "and h1 (2 normalised Elo) above 2.94.",
        "h1 is accepted.",
    ]


def test_three_counts_are_of_single_games_lost_drawn_and_won() -> None:
    done = call("arena", "llr", "480", "1000", "520", "--unit", "elo", "--h1", "5")
    assert done.out.splitlines()[0] == "2,000 games"
    assert done.out.splitlines()[1].startswith("score           0.51000 (")
    assert done.out.endswith("\nNeither is accepted.\n")


@pytest.mark.parametrize(
    ("counts", "games", "elo"),
    [
        (("0", "0", "9"), "9 games", r"\+inf \(\+\d+\.\d\d to \+inf\)"),
        (("1", "0", "0"), "1 game", r"-inf \(-inf to \+\d+\.\d\d\)"),
        (("0", "0", "0", "0", "1"), "2 games in 1 pair", r"\+inf \(-\d+\.\d\d to \+inf\)"),
    ],
)
def test_where_every_game_was_won_or_lost_elo_has_no_end(counts: tuple[str, ...], games: str, elo: str) -> None:
    done = call("arena", "llr", *counts, "--h1", "0.1")
    lines = done.out.splitlines()
    assert lines[0] == games
    assert re.fullmatch(rf"Elo             {elo}", lines[2])
    assert "normalised" not in done.out


def test_as_a_score_h1_is_that_of_a_test_where_nobody_says() -> None:
    assert "LLR" in call("arena", "llr", "1", "2", "3").out
    assert call("arena", "llr", "1", "2", "3") == call("arena", "llr", "1", "2", "3", "--h0", "0", "--h1", "0.02")


def test_as_json_it_has_all_of_it() -> None:
    found = json.loads(call("arena", "llr", *FASTCHESS, "--unit", "nelo", "--h1", "2", "--json").out)
    assert found["llr"] == pytest.approx(2.9455, abs=5e-5)
    assert (found["units"], found["games"], found["verdict"]) == (43360, 86720, "h1")
    assert found["normalised"]["elo"] == pytest.approx(3.05, abs=0.005)
    assert found["counts"] == [int(count) for count in FASTCHESS]


REFUSED = [
    (
        ("1", "2", "--h1", "0.1"),
        "2 counts: give five, of pairs with 0, 1/2, 1, 3/2 and 2 points, or three, of games",
    ),
    (("0", "0", "0", "--h1", "0.1"), "all counts are 0: give the counts of at least one game"),
    (("--h1", "0.1", "--", "-1", "2", "3"), "a count is -1: it must be 0 or more"),
    (("1", "2", "3", "--h1", "3"), "h1 is 3: it must be a score between -0.5 and 0.5"),
    (("1", "2", "3", "--h1", "nan"), "h1 is nan: it must be a score between -0.5 and 0.5"),
    (("1", "2", "3", "--h1", "1", "--unit", "elos"), "unit is 'elos': one of score, elo, nelo"),
    (("1", "2", "1" + 400 * "0"), "a count is 1000000000000"),
    (("1", "2", "1000000000000001"), "a count is 1000000000000001: it must be 1,000,000,000,000,000 or less"),
    (("1", "2", "3", "--unit", "elo"), "--h1 is missing: give both hypotheses, like"),
]


@pytest.mark.parametrize(("words", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_what_cannot_be_meant_is_refused_in_a_line(words: tuple[str, ...], says: str) -> None:
    done = call("arena", "llr", *words)
    assert done.err.startswith(f"arena: {says}")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    ("counts", "h0", "h1"),
    [
        ((707501, 0, 0), 35.988596104185746, 67.12820979339328),
        ((0, 668299102968, 0), 96.16, 676.18),
        ((2824038554737, 0, 8), -291.08, 874.26),
        ((0, 0, 10**15), -990.0, 990.0),
        ((10**15, 0, 0, 0, 0), 900.0, 901.0),
        ((1418, 684038, 22015, 2, 0), 56.46920040077121, 94.03636262371313),
    ],
)
def test_counts_far_from_both_hypotheses_have_a_ratio(counts: tuple[int, ...], h0: float, h1: float) -> None:
    words = [str(count) for count in counts]
    done = call("arena", "llr", *words, "--unit", "nelo", "--h0", f"{h0}", "--h1", f"{h1}")
    assert (done.code, done.err) == (0, "")
    assert "LLR" in done.out
