"""`arena replay grade`: what the moves of solved games gave away."""

from __future__ import annotations

import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from arena.commands import kept_estimates
from arena.commands.grade import SCALE_NOTE, MoveTable, grade
from arena.replay import grading
from arena.replay.grading import Graded
from bots import play
from bots.analysis import estimator
from bots.analysis.estimator import UctMoveEvaluator
from commands import call
from games.risk.exact.table import cached_table, load_or_solve
from games.risk.rules.maps import load_map
from machine.compiled import HAS_NUMBA
from protocol.errors import UsageFault
from referee.effects import Abort, Resignation
from referee.in_process import MoveEvaluation
from referee.record import Record
from referee.state import Phase
from referee_table import Table

needs_numba = pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
DUEL = {"map": "australia", "max_troops": 4, "max_plies": 40}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where estimates are kept, empty at first."""
    monkeypatch.setattr(kept_estimates, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache" / "grades"


def graded(record: Record) -> list[Graded]:
    """Every move of a match of a solved game."""
    return grading.grade_match(record, with_luck=False).moves


def played(table: Table, *moves: dict[str, Any]) -> Table:
    for move in moves:
        table.play(move)
    return table


def take(heap: int, count: int) -> dict[str, int]:
    return {"heap": heap, "take": count}


def duel(seed: int, config: dict[str, Any] = DUEL) -> Table:
    table, chance = Table("risk-duel", config).begin(), random.Random(seed)
    while table.match.standing.phase is Phase.PLAYING:
        table.play(chance.choice(table.match.game.legal_moves_for_turn(table.match.standing.course.state)[0]))
    return table


def shown(table: Table, folder: Path, capsys: pytest.CaptureFixture[str], *, to_json: bool) -> str:
    (folder / "m-1.jsonl.gz").write_bytes(table.packed())
    grade(str(folder / "m-1.jsonl.gz"), "", to_json=to_json)
    return capsys.readouterr().out


def brief(moves: list[Graded]) -> list[tuple[int, int, float, float]]:
    return [(move.ply, move.seat, move.value, move.gave_away) for move in moves]


def test_a_mistake_in_nim_gives_away_the_game_and_a_lost_position_nothing() -> None:
    table = played(Table("nim", {"heaps": [1, 2]}).begin(), take(1, 2), take(0, 1))
    moves = list(graded(table.record()))
    assert brief(moves) == [(0, 0, -1.0, 2.0), (1, 1, 1.0, 0.0)]
    assert (moves[0].move, moves[0].best, moves[0].best_value) == (take(1, 2), take(1, 1), 1.0)
    assert (moves[1].move, moves[1].best) == (take(0, 1), take(0, 1))
    lost = played(Table("nim", {"heaps": [1, 1]}).begin(), take(0, 1), take(1, 1))
    assert brief(list(graded(lost.record()))) == [(0, 0, -1.0, 0.0), (1, 1, 1.0, 0.0)]


def test_misere_and_the_allowed_removals_are_heeded() -> None:
    table = played(Table("nim", {"heaps": [3], "misere": True}).begin(), take(0, 3))
    assert [(move.gave_away, move.best) for move in graded(table.record())] == [(2.0, take(0, 2))]
    table = played(Table("nim", {"heaps": [5], "take": [1, 2]}).begin(), take(0, 1), take(0, 1), take(0, 2), take(0, 1))
    assert [(move.gave_away, move.best["take"]) for move in graded(table.record())] == [
        (2.0, 2),
        (0.0, 1),
        (0.0, 2),
        (0.0, 1),
    ]


def test_grundys_game_is_graded_too() -> None:
    table = played(Table("grundy", {"heaps": [5]}).begin(), {"heap": 0, "split": 2}).finish_at_random()
    assert brief(list(graded(table.record()))) == [(0, 0, -1.0, 2.0), (1, 1, 1.0, 0.0)]


def test_deals_strikes_and_a_seat_that_leaves_are_no_moves() -> None:
    table = Table("nim", {"heaps": [3, 3], "start": "p-position"}).begin()
    table.play(take(0, 99))
    table.play(table.match.game.legal_moves_for_turn(table.match.standing.course.state)[0][0])
    table.send(Resignation(1))
    assert [(move.ply, move.seat) for move in graded(table.record())] == [(1, 0)]


@needs_numba
@pytest.mark.parametrize("seed", range(4))
def test_every_move_of_a_duel_is_beside_the_best_one_of_the_table(seed: int) -> None:
    table = duel(seed)
    game, exact = table.match.game, load_or_solve(load_map("australia"), 4)
    moves = list(graded(table.record()))
    assert [move.ply for move in moves] == list(range(table.ply))
    state = game.initial(None)[0]
    for move, event in zip(moves, (line.event for line in table.record().plies), strict=True):
        values = dict(exact.move_values(state))
        best = max(values.values())
        assert move.value == values[game.decode_move(move.move)]
        assert move.best_value == values[game.decode_move(move.best)] == pytest.approx(best, abs=1e-7)
        assert move.gave_away == pytest.approx(best - move.value, abs=1e-7)
        assert move.gave_away >= 0
        assert (move.gave_away > 0) == (game.decode_move(move.move) not in exact.best_moves(state))
        outcomes = [after for _, after in game.outcomes(state, game.decode_move(move.move))]
        state = outcomes[0] if event.result is None or event.result["taken"] else outcomes[1]
    assert sum(move.gave_away for move in moves) > 0


@needs_numba
def test_the_json_has_every_move_and_the_mean_of_each_seat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(shown(duel(1), tmp_path, capsys, to_json=True))
    assert list(told) == ["match", "game", "moves", "seats", "luck"]
    assert (told["match"], told["game"]) == ("m-1", "risk-duel")
    for seat in (0, 1):
        lost = [move["gave_away"] for move in told["moves"] if move["seat"] == seat]
        mean = pytest.approx(sum(lost) / len(lost))
        assert told["seats"][seat] == {"seat": seat, "bot": ("ann", "bob")[seat], "moves": len(lost), "mean": mean}
    first = told["moves"][0]
    assert (first["ply"], first["bot"], first["move"]["do"], first["notation"][:7]) == (0, "ann", "invade", "invade ")


def test_a_position_that_is_even_but_for_rounding_is_worth_nothing_and_not_less(
    capsys: pytest.CaptureFixture[str],
) -> None:
    even, even_too = -1e-9, -2e-9
    move = Graded(
        ply=0, seat=0, bot="ann", move={}, notation="this", value=even_too,
        best={}, best_notation="that", best_value=even, gave_away=even - even_too,
    )  # fmt: skip
    assert list(MoveTable(Table("nim").begin().finish_at_random().record(), None).print_as_graded(iter([move]))) == [
        move
    ]
    assert capsys.readouterr().out.splitlines()[1].split() == ["0", "ann", "this", "+0.000", "that", "+0.000", "0.000"]


@needs_numba
def test_grades_and_luck_are_by_one_table_in_memory() -> None:
    record = duel(1).record()
    cached_table.cache_clear()
    assert grading.grade_match(record).luck is not None
    assert cached_table.cache_info()[:2] == (1, 1)


@needs_numba
def test_the_table_has_a_line_for_each_move_and_ends_with_one_for_each_seat(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(duel(1), tmp_path, capsys, to_json=False).splitlines()
    assert [int(line.split()[0]) for line in lines[1:-5]] == list(range(len(lines) - 6))
    assert lines[0].split() == ["ply", "bot", "move", "luck", "value", "better", "value", "gave", "away"]
    assert lines[-5:-3] == [SCALE_NOTE, "luck is in points, 0 to 1: half as much"]
    assert [line.split(":")[0] for line in lines[-3:-1]] == ["seat 0  ann", "seat 1  bob"]
    assert all("gave away 0." in line for line in lines[-3:-1])
    assert lines[-1].startswith("luck gave ann ")


def test_a_match_without_a_move_has_no_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("nim").begin()
    table.send(Abort())
    told = json.loads(shown(table, tmp_path, capsys, to_json=True))
    assert told["moves"] == []
    assert [(seat["moves"], seat["mean"]) for seat in told["seats"]] == [(0, None), (0, None)]
    lines = shown(table, tmp_path, capsys, to_json=False).splitlines()
    assert lines[-2:] == ["seat 0  ann: no moves", "seat 1  bob: no moves"]


def test_the_command_grades_a_file_and_refuses_a_game_that_is_not_solved_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "m-1.jsonl.gz"
    file.write_bytes(Table("nim").begin().finish_at_random().packed())
    code, out, err = call("arena", "replay", "grade", str(file), "--json")
    assert (code, err) == (0, "")
    assert len(json.loads(out)["moves"]) > 2
    file.write_bytes(Table("dilemma").begin().finish_at_random().packed())
    code, out, err = call("arena", "replay", "grade", str(file))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "dilemma is not solved, and has no estimates, because seats move at once in it" in err


@needs_numba
def test_what_is_too_large_to_solve_is_estimated_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = duel(1, {"map": "africa", "max_plies": 14})
    told = json.loads(shown(table, tmp_path, capsys, to_json=True))
    assert told["estimate"] == "uct, 2,000 simulations a move"
    compare_scores = [move["error"] for move in told["moves"] if "error" in move]
    assert told["noise"] == pytest.approx(
        1.96 * (sum(error**2 for error in compare_scores) / len(compare_scores)) ** 0.5, rel=1e-3
    )
    assert all(move["kinds"]["phase"] in ("taking territories", "fighting") for move in told["moves"])
    text = shown(table, tmp_path, capsys, to_json=False)
    assert f"\nestimate: uct, 2,000 simulations a move; a single loss under {told['noise']:.3f} is noise\n" in text
    with pytest.raises(UsageFault, match="africa with 10 troops is too large to solve"):
        list(graded(table.record()))


@needs_numba
def test_a_match_of_more_than_two_is_estimated_by_as_many_simulations_as_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "m-1.jsonl.gz"
    file.write_bytes(play(["raider"] * 3, "risk-campaign", seed=1, config={"map": "africa", "players": 3}).packed)
    done = call("arena", "replay", "grade", str(file), "--json", "--sims", "80")
    assert (done.code, done.err) == (0, "")
    told = json.loads(done.out)
    assert told["estimate"] == "uct, 80 simulations a move"
    assert [seat["moves"] > 2 for seat in told["seats"]] == [True] * 3
    assert call("arena", "replay", "grade", str(file), "--json", "--sims", "80").out == done.out
    refused = call("arena", "replay", "grade", str(file), "--sims", "5")
    assert refused == (2, "", "arena: --sims is 5: it must be 80 to 10000000\n")


@pytest.fixture
def africa(tmp_path: Path) -> Path:
    """A duel of random moves on a map that is too large to be solved by the way."""
    file = tmp_path / "m-1.jsonl.gz"
    file.write_bytes(duel(1, {"map": "africa", "max_plies": 14}).packed())
    return file


class Stopped(UctMoveEvaluator):
    """Is interrupted by Ctrl-C at a ply."""

    at: int | None = None
    judged: list[int]

    def evaluate_move(self, state: Any, move: Any, ply: int) -> MoveEvaluation:
        if ply == self.at:
            raise KeyboardInterrupt
        self.judged.append(ply)
        return super().evaluate_move(state, move, ply)


@needs_numba
def test_a_move_is_printed_when_it_is_graded_and_who_is_stopped_goes_on_where_it_was(
    africa: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("arena", "replay", "grade", str(africa), "--sims", "80")
    whole = call(*words)
    (kept,) = cache.iterdir()
    kept.unlink()
    monkeypatch.setattr(estimator, "UctMoveEvaluator", Stopped)
    monkeypatch.setattr(Stopped, "judged", [], raising=False)
    monkeypatch.setattr(Stopped, "at", 5)
    first = call(*words)
    assert (first.code, first.out) == (130, "".join(whole.out.splitlines(keepends=True)[:6]))
    assert first.err == "arena: stopped; the estimates so far are kept, the same command goes on\n"
    kept.write_bytes(kept.read_bytes()[:-9])  # of the last only a part was written
    monkeypatch.setattr(Stopped, "at", None)
    assert call(*words) == whole
    assert Stopped.judged == [0, 1, 2, 3, 4, *range(4, 14)]
    assert call(*words) == whole
    assert len(Stopped.judged) == 15
    assert len(kept.read_bytes().splitlines()) == 14


@needs_numba
def test_estimates_that_cannot_be_kept_are_made_all_the_same(africa: Path, cache: Path) -> None:
    whole = call("arena", "replay", "grade", str(africa), "--sims", "80")
    shutil.rmtree(cache)
    cache.write_text("a file")
    assert call("arena", "replay", "grade", str(africa), "--sims", "80") == whole


@needs_numba
def test_the_worst_moves_are_listed_alone_the_worst_first(tmp_path: Path) -> None:
    file = tmp_path / "m-1.jsonl.gz"
    file.write_bytes(duel(1).packed())
    every = call("arena", "replay", "grade", str(file)).out.splitlines()
    code, out, err = call("arena", "replay", "grade", str(file), "--worst", "3")
    assert (code, err) == (0, "")
    lost = sorted((float(line.split()[-1]) for line in every if re.search(r" [+-]\S+ +0\.\d{3}$", line)), reverse=True)
    rows = out.splitlines()
    assert [float(row.split()[-1]) for row in rows[1:4]] == lost[:3]
    assert all(row in every for row in rows)
    assert rows[4].startswith("values are expected results")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--worst", "0"], "--worst is 0: it is 1 or more"),
        (["--worst", "3", "--json"], "--worst and --json: choose one; JSON has what every move gave away"),
    ],
)
def test_what_cannot_be_listed_is_a_line(words: list[str], says: str) -> None:
    assert call("arena", "replay", "grade", "m-1", *words) == (2, "", f"arena: {says}\n")
    assert call("arena", "replay", "grade", "--bot", "ann", *words) == (2, "", f"arena: {says}\n")


def hands(*moves: str) -> Table:
    """Kuhn poker in which seats move so, hand after hand."""
    table = Table("kuhn", {"hands": 2}).begin()
    for move in moves:
        table.play({"do": move})
    return table


def test_a_decision_of_poker_gave_away_chips_by_what_its_seat_knew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = hands("check", "check", "bet", "fold")  # a queen and a king, then a jack, seat 1 before seat 0
    told: dict[str, Any] = json.loads(shown(table, tmp_path, capsys, to_json=True))
    assert told["unit"] == "chips"
    assert [(move["ply"], move["seat"], move["notation"]) for move in told["moves"]] == [
        (1, 0, "check"),
        (2, 1, "check"),
        (4, 1, "bet"),
        (5, 0, "fold"),
    ]
    assert [round(move["gave_away"], 9) for move in told["moves"]] == [0, 0.4, 0, 0]
    assert told["moves"][1]["kinds"] == {"to decide": "check or bet", "own card": "K"}
    told = json.loads(shown(hands("bet", "fold", "bet", "call"), tmp_path, capsys, to_json=True))
    assert [round(move["gave_away"], 9) for move in told["moves"]] == [round(1 / 6, 9), 3, 0, 0]


def test_the_table_of_poker_says_that_it_counts_chips_and_what_the_deal_gave(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(hands("check", "check", "bet", "fold"), tmp_path, capsys, to_json=False).splitlines()
    assert "values are what the seat is expected to win of the hand, in chips" in lines
    assert "seat 1  bob: 2 moves, each gave away 0.2000 chips on average" in lines
    assert lines[0].split() == ["ply", "bot", "move", "value", "better", "value", "gave", "away"]
    assert lines[-1].startswith("luck gave ann ")
    assert lines[-1].endswith(" chips, by equilibrium")
