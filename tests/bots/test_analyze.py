"""`arena-bot analyze` and `compare`, from the command line on."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest

from bots.analysis.searches import SearchComparison, SearchRun, measure_extent
from bots.commands.output import print_table
from bots.search.base import searchable_games
from commands import call, on_terminal
from games.dilemma.commands import analyze_dilemma
from games.nim.commands import analyze_nim
from games.risk.exact import rows as duel_rows  # noqa: F401 - their code is compiled for all tests, not for the cache of one
from games.risk.exact.table import solve
from games.risk.rules.maps import load_map
from games.theory.analysis import STRATEGY_DESCRIPTIONS, Contest, GameTooLarge, position_facts
from games.theory.heaps import GRUNDY_RULE, nim_rule
from games.theory.impartial import Difficulty, win_fraction
from machine.compiled import HAS_NUMBA
from protocol.dice import Dice
from protocol.games import game_names, load_game
from protocol.games.base import NO_DICE
from volumes import examples

needs_numba = pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")


def read(*words: str) -> Any:
    code, out, err = call("arena-bot", *words, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_analyze_nim_tells_class_value_and_counts() -> None:
    facts = read("analyze", "nim", "10,20,31", "--take", "1,3,5")
    assert (facts["class"], facts["value"], facts["grundy"]) == ("N", 1.0, 1)
    assert len(facts["best_moves"]) == 9
    assert {"heap": 2, "take": 5} in facts["best_moves"]
    assert facts["p_positions"] > 1000
    assert facts["n_positions"] > 1000


def test_analyze_nim_in_misere_has_no_grundy_value() -> None:
    facts = read("analyze", "nim", "1,1,1", "--misere")
    assert (facts["class"], facts["grundy"], facts["value"]) == ("P", None, 0.0)
    assert (facts["p_positions"], facts["n_positions"]) == (2, 2)


def test_every_best_move_of_equal_heaps_is_listed() -> None:
    facts = read("analyze", "nim", "2,2,5")
    assert facts["best_moves"] == [{"heap": 2, "take": 5}]
    facts = read("analyze", "nim", "1,1")
    assert facts["best_moves"] == [{"heap": 0, "take": 1}, {"heap": 1, "take": 1}]


@pytest.mark.parametrize("take", ["3,999983", "500000,700000,999999,1000000"])
def test_heaps_of_a_million_are_answered_in_seconds(take: str) -> None:
    before = time.process_time()  # a busy machine does not count
    facts = read("analyze", "nim", "1000000,999999,123456", "--take", take)
    assert time.process_time() - before < 10
    assert facts["class"] in ("P", "N")


def test_too_many_positions_are_null() -> None:
    facts = read("analyze", "nim", "1000,999", "--take", "1,2,3")
    assert (facts["p_positions"], facts["n_positions"], facts["difficulty"]) == (None, None, None)


def test_analyze_grundy_knows_that_seven_is_lost() -> None:
    facts = read("analyze", "grundy", "7")
    assert (facts["class"], facts["grundy"], facts["value"]) == ("P", 0, 0.0)
    assert facts["best_moves"] == [{"heap": 0, "split": 1}, {"heap": 0, "split": 2}]
    assert facts["difficulty"] == 0.5


def test_the_table_of_a_position_fits_eighty_columns() -> None:
    for heaps, more in (("3,5,7", {}), ("10,20,30", {"take": "1,2,3"}), ("5", {"misere": True}), ("1000,1000", {})):
        out = on_terminal(partial(analyze_nim, heaps, **more))
        assert "Grundy value" in out
        assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nim", "-1"], "heap '-1'"),
        (["nim", "3,-1,5"], "heap '-1'"),
        (["nim", "junk"], "heap 'junk'"),
        (["nim", ""], "heap ''"),
        (["nim", "3,,5"], "heap ''"),
        (["nim", "1000001"], "integers from 0 to 1000000"),
        (["nim", "3", "--take", "0"], "--take '0'"),
        (["nim", "3", "--take", "-2,1"], "--take '-2'"),
        (["nim", ",".join(["1"] * 65)], "65 numbers for heap: at most 64"),
        (["grundy", "0"], "integers from 1 to 10000"),
        (["nim", "1000,1000", "--strategies"], "too many positions to compare strategies"),
        (["nim", "1", "--strategies"], "no lost position with a move"),
    ],
)
def test_what_is_no_position_is_refused_in_one_line(args: list[str], message: str) -> None:
    code, out, err = call("arena-bot", "analyze", *args)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.nightly
def test_compare_agrees_on_tic_tac_toe() -> None:
    searches = read("compare", "tictactoe")
    assert all(set(search) == {"algorithm", "nodes", "leaves", "value", "seconds"} for search in searches)
    by_name = {search["algorithm"]: search for search in searches}
    assert {search["value"] for search in searches} == {0}
    assert (by_name["minimax"]["nodes"], by_name["minimax"]["leaves"]) == (549946, 255168)
    assert by_name["alphabeta"]["nodes"] < 0.04 * 549946
    assert {"negamax", "star1", "alphabeta+table", "deepening", "status"} <= set(by_name)


def test_compare_to_a_depth_prints_a_table() -> None:
    code, out, err = call("arena-bot", "compare", "nim", "--set", "heaps=3,4", "--depth", "3")
    assert code == 0
    assert err.startswith("arena-bot: every search runs on the first position of nim, ")
    assert out.startswith("nim, 3 plies\n")
    assert "branching" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("args", "depth", "labelled", "chance"),
    [
        (["nim", "--set", "heaps=1,2"], "the whole game", True, False),
        (["nim", "--depth", "1"], "1 ply", False, False),
        (["risk-duel", "--depth", "6"], "6 plies", False, True),
        (["risk-campaign", "--depth", "1"], "1 ply", False, True),
    ],
)
def test_compare_explains_the_rows_that_it_prints_and_those_that_it_does_not(
    args: list[str], depth: str, labelled: bool, chance: bool
) -> None:
    code, out, _ = call("arena-bot", "compare", *args)
    notes, rows = out.split("\n\n", 1)
    assert code == 0
    assert notes.startswith(f"{args[0]}, {depth}\n")
    assert ("status keeps" in notes) == ("status" in rows) == labelled
    assert ("chance: minimax, negamax, alphabeta, alphabeta+table" in notes) == ("negamax" not in rows) == chance
    assert max(map(len, out.splitlines())) <= 80


def test_compare_names_the_games_that_it_takes() -> None:
    code, out, _ = call("arena-bot", "compare", "--help")
    assert code == 0
    assert all((f" {game}" in out) == (game in searchable_games()) for game in game_names())


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["chess"], "there is no game 'chess'"),
        (
            ["dilemma"],
            "dilemma can't be searched, because it hides information: use one of nim, grundy, tictactoe, risk-",
        ),
        (["kuhn"], "kuhn can't be searched, because it hides information: use one of nim, "),
        (["nim", "--set", "heaps=-1"], "heaps[0] is -1"),
        (["nim", "--set", "pile=3"], "no config key 'pile'"),
        (["nim", "--set", "pile"], "--set 'pile': it must be key=value"),
        (["nim", "--depth", "0"], "--depth is 0: it must be 1 to 64 plies"),
        (["nim", "--eval", "lines"], "nim has no evaluation 'lines'"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(args: list[str], message: str) -> None:
    code, out, err = call("arena-bot", "compare", *args)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_the_branching_factor_of_a_regular_tree_is_its_own() -> None:
    search = SearchRun("minimax", 1 + 3 + 9 + 27, 27, 0.0, 0.1)
    comparison = SearchComparison(3, 3, [search])
    assert comparison.branching_factor(search) == pytest.approx(3)
    assert comparison.node_ratio(search) == 1


def test_the_extent_of_a_tree_stops_before_it_is_too_large() -> None:
    rules = load_game("tictactoe")
    root = rules.initial(NO_DICE)[0]
    assert measure_extent(rules, root, 200, 549_946) == (9, True, False)
    assert measure_extent(rules, root, 200, 1000) == (3, False, False)
    assert measure_extent(rules, root, 2, 10**9) == (2, False, False)


def test_strategies_are_compared_from_lost_positions() -> None:
    told = read("analyze", "nim", "5,5,5", "--strategies")
    shares = told["shares"]
    assert list(shares) == list(STRATEGY_DESCRIPTIONS)
    assert all(shares[row]["hardest"] == 0 for row in STRATEGY_DESCRIPTIONS)
    assert shares["hardest"]["half"] > shares["theory"]["half"] > shares["random"]["half"]
    assert shares["deeper"]["half"] >= shares["hardest"]["half"]
    code, out, _ = call("arena-bot", "analyze", "nim", "5,5,5", "--strategies")
    assert code == 0
    assert "[0, 2, 3] in" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80


def test_an_exact_share_is_that_of_a_game_worked_by_hand() -> None:
    # From (1, 1) the mover takes one and the other takes the last: the mover never wins.
    # From (2, 2) at random it wins where the random replier errs.
    contest = Contest(nim_rule(None))
    assert contest.win_rate("random", "random", {(1, 1): 1}) == 0
    # (1, 2) or (0, 2) with even chance; from (0, 2): the replier takes all (1/2) or leaves one, which loses;
    # from (1, 2): of three moves (1, 1) wins for it, (0, 2) gives ½ each, (0, 1) loses.
    assert contest.win_rate("random", "random", {(2, 2): 1}) == pytest.approx(0.5 * 0.5 + 0.5 * (0 + 0.5 + 1) / 3)


def test_the_starts_of_a_contest_are_weighted_as_they_are_dealt() -> None:
    starts = Contest(nim_rule(None)).lost_positions((1, 2, 3))
    assert starts == {(0, 1, 1): 3, (0, 2, 2): 1, (1, 2, 3): 1}
    rules = load_game("nim", {"heaps": [1, 2, 3], "start": "p-position"})
    dealt = {rules.initial(Dice(bytes([i]), 0))[0].heaps for i in range(100)}
    assert {tuple(sorted(heaps)) for heaps in dealt} == set(starts)
    assert len(dealt) == sum(starts.values())


@pytest.mark.parametrize(("heaps", "rule"), [((10, 20, 30), nim_rule((1, 2, 3))), ((7, 7, 7), nim_rule(None))])
def test_two_won_positions_of_equal_value_differ_in_difficulty(heaps: tuple[int, ...], rule: Any) -> None:
    pair = Contest(rule).find_pair(heaps)
    assert pair is not None
    assert float(win_fraction(pair.easier, rule)) == float(win_fraction(pair.harder, rule)) == pair.value
    difficulty = Difficulty(rule)
    assert difficulty.error_probability(pair.easier) == pair.easier_difficulty
    assert difficulty.error_probability(pair.harder) == pair.harder_difficulty
    assert pair.easier_difficulty < pair.harder_difficulty


def test_a_contest_with_too_many_positions_is_refused() -> None:
    with pytest.raises(GameTooLarge, match="heaps 1000,1000: too many"):
        Contest(nim_rule(None)).lost_positions((1000, 1000))


def test_misere_and_grundy_have_contests_too() -> None:
    for contest, heaps in ((Contest(nim_rule((1, 2)), misere=True), (4, 5)), (Contest(GRUNDY_RULE), (8, 9))):
        shares = contest.win_rates(contest.lost_positions(heaps))
        assert shares["theory"]["theory"] == 0
        assert 0 < shares["hardest"]["random"] <= 1


def test_the_facts_of_a_finished_position_have_no_best_move() -> None:
    facts = position_facts((0, 0), nim_rule(None), misere=True)
    assert (facts["class"], facts["value"], facts["best_moves"]) == ("N", 1.0, [])


@needs_numba
def test_analyze_duel_tells_the_value_of_the_empty_board_and_of_each_first_move() -> None:
    facts = read("analyze", "duel", "south-america", "--max-troops", "3")
    assert (facts["map"], facts["max_troops"], facts["positions"]) == ("south-america", 3, 2401)
    assert [move["name"] for move in facts["first_moves"]] == [
        "invade Venezuela",
        "invade Peru",
        "invade Brazil",
        "invade Argentina",
    ]
    assert facts["value"] == pytest.approx(max(move["value"] for move in facts["first_moves"]), abs=1e-8)
    assert facts["value"] == pytest.approx(-0.154192, abs=1e-6)
    assert facts["sweeps"] > 1
    assert facts["seconds"] > 0
    assert facts["best_play"] is None
    assert [len(move["replies"]) for move in facts["first_moves"]] == [3] * 4
    replies = {reply["name"]: reply["value"] for reply in facts["first_moves"][2]["replies"]}
    assert max(replies, key=replies.__getitem__) == "invade Peru"
    assert replies["invade Peru"] == pytest.approx(-facts["value"], abs=1e-8)


@needs_numba
def test_analyze_duel_prints_a_narrow_table() -> None:
    code, out, err = call("arena-bot", "analyze", "duel", "australia", "--max-troops", "3")
    assert (code, err) == (0, "")
    assert "invade New Guinea" in out
    assert "then any" in out
    assert max(map(len, out.splitlines())) <= 80


@needs_numba
def test_analyze_duel_says_before_a_long_wait_how_many_positions_it_solves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("games.risk.commands._SLOW_SOLVE_POSITIONS", 2400)
    code, out, err = call("arena-bot", "analyze", "duel", "australia", "--max-troops", "3", "--json")
    assert (code, json.loads(out)["positions"]) == (0, 2401)
    assert err == "arena-bot: solving 2,401 positions, up to 20 s per million\n"


@needs_numba
def test_best_play_lasts_and_attacks_as_often_as_games_of_it_do() -> None:
    told = read("analyze", "duel", "south-america", "--max-troops", "4", "--best-play")["best_play"]
    rules = load_game("risk-duel", {"max_troops": 4})
    table = solve(load_map("south-america"), 4)
    plies, attacks, chosen = [], [], []
    for game in range(examples(40, nightly=400)):
        state, attacked, chose = rules.initial(NO_DICE)[0], 0, 0
        while rules.to_move(state) is not None:
            move = table.best_moves(state)[0]
            attacked += move.do == "attack"
            chose += move.do == "attack" and rules.legal_moves(state)[0].do == "reinforce"
            state, _ = rules.apply(state, move, Dice(b"%d" % game, state.at))
        plies.append(state.at)
        attacks.append(attacked)
        chosen.append(chose)
    for name, counts in (("plies", plies), ("attacks", attacks), ("chosen_attacks", chosen)):
        assert told[name] == pytest.approx(mean(counts), abs=4 * stdev(counts) / len(counts) ** 0.5), name
    assert 0 < told["unfinished"] < 1e-6


@needs_numba
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["africa"], "africa with 10 troops is too large to solve (6 territories, over 20,000,000 positions)"),
        (["africa"], "use max_troops 7 "),
        (["world", "--max-troops", "3"], "use a map of 8 territories or fewer "),
        (["south-america", "--max-troops", "2"], "--max-troops is 2: it must be 3 to 100"),
        (["atlantis"], "there is no map 'atlantis'"),
        (["atlantis.toml"], "atlantis.toml"),
    ],
)
def test_analyze_duel_says_in_one_line_what_it_cannot_solve(words: list[str], said: str) -> None:
    code, out, err = call("arena-bot", "analyze", "duel", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_table_keeps_to_a_terminal_and_is_whole_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("a long name " * 10, "1"), ("b", "2")]
    shown = partial(print_table, ("what", "value"), rows)
    assert max(map(len, on_terminal(shown).splitlines())) <= 80
    shown()
    assert f"{rows[0][0].strip()} " in capsys.readouterr().out


def test_analyze_dilemma_scores_each_strategy_against_each() -> None:
    table = read("analyze", "dilemma", "tit-for-tat", "1,1,0,0,1", "--noise", "1/20")
    assert list(table) == ["tit-for-tat", "1,1,0,0,1"]
    assert table["tit-for-tat"] == {"tit-for-tat": 2.25, "1,1,0,0,1": 2.25}
    prison = read("analyze", "dilemma", "always-defect", "tit-for-tat", "--payoffs=-2,-10,0,-5", "--rounds", "10")
    assert prison["always-defect"]["tit-for-tat"] == pytest.approx(-4.5)


def test_the_table_of_all_strategies_fits_eighty_columns() -> None:
    out = on_terminal(partial(analyze_dilemma, noise="0.05"))
    assert "always-cooperate" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["tit-for-tit"], "there is no strategy 'tit-for-tit': always-cooperate, "),
        (["1,1,0,1,2"], "a chance of '1,1,0,1,2' is '2'"),
        (["--noise", "0.6"], "--noise is '0.6': it must be a chance from 0 to 1/2"),
        (["--noise", "1e-999999999"], "--noise is '1e-999999999'"),
        (["--go-on", "1/0"], "--go-on is '1/0'"),
        (["--rounds", "1001"], "--rounds is 1001: it must be 1 to 1000"),
        (["--payoffs", "3,0,5"], "--payoffs is '3,0,5': give four whole numbers"),
        (["--payoffs", "3,0,5,nan"], "--payoffs is '3,0,5,nan'"),
        (["extort", "--payoffs", "1,2,3,4"], "there is no strategy 'extort'"),
    ],
)
def test_what_is_no_question_about_the_dilemma_is_refused_in_one_line(args: list[str], message: str) -> None:
    code, out, err = call("arena-bot", "analyze", "dilemma", *args)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


@needs_numba
def test_analyze_duel_draws_the_curve_of_what_beginning_is_worth() -> None:
    told = read("analyze", "duel", "south-america", "--curve", "3-5")
    assert told["map"] == "south-america"
    assert [one["max_troops"] for one in told["curve"]] == [3, 4, 5]
    for one in told["curve"]:
        exact = solve(load_map("south-america"), one["max_troops"])
        assert one["value"] == pytest.approx(exact.start[0], abs=one["error"] + 1e-9)
        assert (one["positions"], one["error"] < 1e-7, one["seconds"] is not None) == (exact.positions, True, True)


@needs_numba
def test_the_curve_reads_tables_that_are_there_and_leaves_no_others(tmp_path: Path) -> None:
    there = {"XDG_CACHE_HOME": str(tmp_path)}
    code, out, err = call("arena-bot", "solve", "risk-duel", "--config", "max_troops=4", **there)
    assert code == 0, err
    assert len([*(tmp_path / "bot-arena").glob("*.table")]) == 1, out
    code, out, err = call("arena-bot", "analyze", "duel", "australia", "--curve", "3-4", **there)
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()[3:]]
    assert [(row[0], row[2]) for row in rows] == [("3", "-0.154192"), ("4", "+0.032074")]
    assert (rows[0][5] != "before", rows[1][5]) == (True, "before")
    assert len([*(tmp_path / "bot-arena").glob("**/*.table")]) == 1


@needs_numba
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["africa", "--curve", "5"], "--curve is '5': give two caps, like 3-8"),
        (["africa", "--curve", "8-3"], "--curve is 8-3: give caps from 3 to 100, the lower one first"),
        (
            ["africa", "--curve", "3-40"],
            "africa with 40 troops has too many positions to solve: at most 16 are feasible",
        ),
        (["asia", "--curve", "3-4"], "asia with 4 troops has too many positions to solve: the map is too large"),
        (["africa", "--curve", "3-4", "--best-play"], "--best-play is for one cap: leave out --curve"),
    ],
)
def test_a_curve_that_cannot_be_drawn_is_refused_in_one_line(words: list[str], said: str) -> None:
    code, out, err = call("arena-bot", "analyze", "duel", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
