"""`arena test --plan`: which value to take, and what the test will take, by pairs that are no part of it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from arena.commands.sprt import SprtOptions
from arena.commands.sprt_plan import run_plan
from arena.sprt.pilot import pair_means
from commands import Done, on_terminal
from measuring import resampling
from protocol.reasons import VOID
from seasons import result
from tournaments import played

GAME = ("--game", "risk-duel", "--set", "max_plies=8")
DUEL = ("greedy", "random", *GAME, "--h1", "0.1", "--in-process", "--jobs", "1")
ENDS = r"( +(?:> )?[\d,]+){2}( +[01]\.\d{3}){2} +\d+"
ROW = rf"(\S+) +(0\.\d{{4}}) +h0  {ENDS}\n +h1  {ENDS}"


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "MAX_TESTS", 10)


def planned(done: Done) -> dict[str, float]:
    """How pairs spread by each value, in the order in which they are told."""
    assert done.code == 0, done.err
    return {found[1]: float(found[2]) for found in re.finditer(f"^{ROW}$", done.out, re.MULTILINE)}


def test_it_plays_a_pilot_names_the_value_whose_pairs_spread_least_and_does_so_again_at_once(tmp_path: Path) -> None:
    words = (*DUEL, "--plan", "--pairs", "32", "--seed", "9", "--data", str(tmp_path / "data"))
    first = played("arena", "test", *words, "--json", str(tmp_path / "plan.json"))
    spreads = planned(first)
    assert list(spreads.values()) == sorted(spreads.values())
    assert set(spreads) == {"exact", "fitted-1", "general-1", "features-1", "raw"}
    best = next(iter(spreads))
    lines = first.out.splitlines()
    assert re.fullmatch(r"a pilot, seed 9-pilot, id t\w+: 32 pairs", lines[0])
    assert re.fullmatch(rf"greedy scored 0\.\d+ \(0\.\d+-0\.\d+\), luck-adjusted by {best}", lines[1])
    assert (
        lines[2] == "h0 (0 points a game) against h1 (0.1 points a game), alpha 0.05, beta 0.05, at most 10,000 pairs"
    )
    assert lines[-1].startswith(f"use --value {best} --seed 9, for new games: pairs spread least by it (0.")
    document = json.loads((tmp_path / "plan.json").read_text())
    assert [one["value"] for one in document["prospects"]] == list(spreads)
    assert document["advice"] == lines[-1]
    assert {len(pairs) for pairs in document["pairs"].values()} == {32}
    again = played("arena", "test", *words)
    assert again.out.splitlines()[0].startswith("an earlier test of these bots, seed 9-pilot, ")
    assert planned(again) == spreads


def test_a_former_test_of_the_same_bots_is_a_pilot_and_so_is_its_file(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"))
    file = tmp_path / "former.json"
    play = ("--in-process", "--jobs", "1", "--pairs", "32", "--value", "features-1", "--json", str(file))
    assert played("arena", "test", *DUEL[:2], *GAME, *play, "--seed", "1", *data).code == 0
    found = played("arena", "test", *DUEL, "--plan", "--value", "features-1", *data)
    assert found.out.startswith("an earlier test of these bots, seed 1, id t")
    read = played("arena", "test", *DUEL, "--plan", "--pilot", str(file), *data)
    assert read.out.startswith(f"the pairs of {file}: 32 pairs\n")
    assert planned(read) == planned(found)
    assert set(planned(read)) == {"features-1", "raw"}
    other = played("arena", "test", "greedy", "greedy-2=greedy", *DUEL[2:], "--plan", "--pilot", str(file), *data)
    assert (other.code, other.err.count("\n")) == (2, 1)
    assert "has other bots, or another game, config or clock, than this test" in other.err
    own = played("arena", "test", *DUEL, "--plan", "--pilot", str(file), "--seed", "1", *data)
    assert (own.code, own.err) == (
        2,
        f"arena: --pilot {file} has the same --seed 1 as this test, so its games would count twice\n",
    )
    # A match for which nobody came has no luck, and its pair is left out.
    document = json.loads(file.read_text())
    document["matches"][5] = {"luck": None, "result": document["matches"][5]["result"] | {"reason": VOID}}
    file.write_text(json.dumps(document))
    void = played("arena", "test", *DUEL, "--plan", "--pilot", str(file), *data)
    assert (void.code, void.err) == (
        2,
        f"arena: the pairs of {file}: only 31 pairs count, and a plan needs 32\n",
    )


def test_a_test_that_the_planned_one_would_go_on_with_is_no_pilot_and_it_is_told_a_seed_of_its_own(
    tmp_path: Path,
) -> None:
    words = ("random", "other=random", "--game", "nim", "--h1", "0.1", "--in-process", "--jobs", "1")
    data = ("--data", str(tmp_path / "data"))
    assert "undecided" in played("arena", "test", *words, "--max-pairs", "32", "--seed", "1", *data).out
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    copy = ("--data", str(tmp_path / "copy"))
    same = played("arena", "test", *words, "--plan", "--pairs", "32", "--seed", "1", *copy)
    assert same.out.startswith("a pilot, seed 1-pilot, id t")
    planned = played("arena", "test", *words, "--plan", "--pairs", "32", "--max-pairs", "40", *data)
    assert planned.out.startswith("a pilot, seed ")
    assert re.search(r"\nuse --seed \w{8}, for new games; the only value function to use is raw", planned.out)
    assert re.search(r" +> 40 ", planned.out)
    wider = played("arena", "test", *words[:4], "--h1", "0.2", *words[6:], "--plan", "--max-pairs", "40", *data)
    assert wider.out.startswith("an earlier test of these bots, seed ")


def test_bots_that_are_far_apart_are_told_a_larger_h1_and_lines_fit_a_terminal(tmp_path: Path) -> None:
    file, data = tmp_path / "pilot.json", tmp_path / "data"
    bots, sets = ["perfect", "the-other=random"], ["heaps=3,4,5"]
    words = [*bots, "--game", "nim", "--set", *sets, "--in-process", "--pairs", "32", "--seed", "1"]
    assert played("arena", "test", *words, "--json", str(file), "--data", str(data)).code == 0
    options = SprtOptions(
        bots=bots,
        game="nim",
        sets=sets,
        clock="10+0.1",
        seed="2",
        jobs=1,
        db=None,
        data=data,
        to_json=None,
        in_process=True,
        max_pairs=40,
        plan=True,
        pilot=file,
    )
    out = on_terminal(lambda: run_plan(options))
    assert "; the bots look far apart, so --h1 0.3 takes fewer pairs" in out.replace(" \n", " ")
    assert max(map(len, out.splitlines())) <= 80
    assert re.search(r"^raw +0\.\d{4}", out, re.MULTILINE)


def test_a_game_without_dice_has_results_alone(tmp_path: Path) -> None:
    words = ("random", "other=random", "--game", "nim", "--h1", "0.2", "--in-process", "--plan", "--pairs", "32")
    done = played("arena", "test", *words, "--data", str(tmp_path / "data"))
    assert list(planned(done)) == ["raw"]
    assert done.out.endswith(", for new games; the only value function to use is raw\n")


REFUSED = [
    (("--plan", "--pairs", "31"), "--pairs is 31: with --plan it must be 32 to 100000"),
    (("--pilot", "nowhere.json"), "--pilot nowhere.json is for --plan: add --plan"),
    (("--plan", "--pilot", "nowhere.json"), "--pilot nowhere.json can't be read: No such file or directory"),
    (("--plan", "--h0", "0.2"), "h1 is 0.1: it must be more than h0, which is 0.2"),
]


@pytest.mark.parametrize(("words", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_what_cannot_be_meant_is_refused_in_one_line(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = played("arena", "test", *DUEL, *words, "--data", str(tmp_path / "data"))
    assert (done.code, done.out, done.err) == (2, "", f"arena: {says}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Input data was truncated"),
        ("[]", "Expected `object`, got `array`"),
        (
            '{"seed": "1", "arguments": {}, "matches": [{"match": 3}]}',
            "Object missing required field `result` - at `$.ma",
        ),
        ('{"seed": "1", "arguments": {}, "matches": []}', "its arguments have no 'test'"),
    ],
)
def test_a_file_of_something_else_is_called_so(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "pilot.json").write_text(text)
    words = ("--plan", "--pilot", str(tmp_path / "pilot.json"), "--data", str(tmp_path / "data"))
    done = played("arena", "test", *DUEL, *words)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert f"--pilot {tmp_path / 'pilot.json'} is not what `arena test --json` writes: {says}" in done.err


def test_pairs_with_a_void_match_or_one_of_unknown_luck_are_left_out() -> None:
    ranks = [(1, 2), (2, 1), (1, 2), (1, 2), (1, 1), (1, 2), (1, 2)]
    matches = [
        result(f"m{place}", ("ann", "bob") if place % 2 == 0 else ("bob", "ann"), rank, rated=False, place=place)
        for place, rank in enumerate(ranks)
    ]
    assert pair_means(matches, "ann") == [1.0, 0.5, 0.25]
    luck = {one.match: 0.1 * (place + 1) for place, one in enumerate(matches)}
    assert pair_means(matches, "ann", luck) == pytest.approx([1.05, 0.55, 0.3])
    del luck["m2"]
    assert pair_means(matches, "ann", luck) == pytest.approx([1.05, 0.3])
    void = result("m4", ("ann", "bob"), (1, 1), reason=VOID, rated=False, place=4)
    assert pair_means([*matches[:4], void, *matches[5:]], "ann") == [1.0, 0.5]
