"""Sets of weights: by name, from a file, as text, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import games.risk
from bots.reference.search_bots import AlphaBeta, GeneticBot
from bots.tuning.file import load_tuning
from bots.tuning.weights import read_weights, weight_set_names, weighted_games
from games.risk.evaluation import DEFAULT_OUTLOOK_WEIGHTS
from protocol.dice import Dice
from protocol.errors import UsageFault
from protocol.games import load_game
from turns import turn

FOLDER = Path(games.risk.__file__).parent / "tuning" / "weights"
TUNINGS = Path(__file__).parents[2] / "docs" / "tunings"


@pytest.mark.parametrize("text", ["1,2.5,.5,0", "1/2.5/.5/0"])
def test_four_numbers_hold_for_both_games(text: str) -> None:
    assert read_weights("ga", text) == dict.fromkeys(weighted_games(), (1.0, 2.5, 0.5, 0.0))


def test_equal_weights_have_a_name() -> None:
    assert read_weights("ga", "equal") == dict.fromkeys(weighted_games(), (1.0, 1.0, 1.0, 1.0))


@pytest.mark.parametrize("name", weight_set_names())
def test_every_named_set_has_four_weights_for_each_game(name: str) -> None:
    found = read_weights("ga", name)
    assert tuple(found) == weighted_games()
    assert all(len(weights) == 4 and min(weights) >= 0 < max(weights) for weights in found.values())


def test_a_file_gives_its_weights_to_both_games(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('game = "risk-duel"\nweights = [1, 2.5, 0.125, 0]\n')
    assert read_weights("ga", f"@{file}") == dict.fromkeys(weighted_games(), (1.0, 2.5, 0.125, 0.0))


@pytest.mark.parametrize(
    "text", ["1,2,3", "1,2,3,-4", "0/0/0/0", "inf,1,1,1", "nan,1,1,1", "1/1/1/1/1/10.5", "best", "", "../equal"]
)
def test_what_are_no_weights_is_refused_with_all_that_would_be_right(text: str) -> None:
    with pytest.raises(UsageFault) as refused:
        read_weights("ga", text)
    right = (
        "give four numbers of 0 or more (or six from 0 to 10 for outlook), not all 0, like 1,1,1,1; "
        "or @FILE, a tuning; or one of " + ", ".join(weight_set_names())
    )
    assert str(refused.value) == f"ga: weights is {text!r}: {right}"


@pytest.mark.parametrize(
    "weights", ["[1, 2, 3]", "[1, 2, 3, -4]", "[0, 0, 0, 0]", '"1,2,3,4"', "[1, 1, 1, true]", "[1, 1, 1, inf]", "4"]
)
def test_a_file_with_other_weights_is_refused_by_its_name(weights: str, tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    file.write_text(f"weights = {weights}\n")
    with pytest.raises(
        UsageFault,
        match=r"^ga: in .*: weights must be four numbers of 0 or more \(or six from 0 to 10 for outlook\), "
        r"not all 0, like \[1, 1, 1, 1\]",
    ):
        read_weights("ga", f"@{file}")


def test_a_number_too_large_for_a_float_is_no_weight(tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    file.write_text(f"weights = [1, 1, 1, {'9' * 400}]\n")
    with pytest.raises(UsageFault, match="weights must be four numbers"):
        read_weights("ga", f"@{file}")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('map = "world"', "there is no key weights: the file must be one of arena-bot tune"),
        ("[running]\nnumber = 1", "there is no key weights: the tuning has no finished generation yet"),
    ],
)
def test_a_file_without_weights_is_refused_by_its_name(text: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    file.write_text(text)
    with pytest.raises(UsageFault, match=f"^ga: in .*w.toml': {why}$"):
        read_weights("ga", f"@{file}")


def test_a_file_that_is_not_there_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match=r"gone\.toml' can't be read: No such file"):
        read_weights("ga", f"@{tmp_path}/gone.toml")


SHIPPED = [(game, name) for game in weighted_games() for name in weight_set_names() if name != "equal"]


@pytest.mark.parametrize(("game", "name"), SHIPPED)
def test_weights_that_come_with_the_package_are_the_end_of_a_finished_tuning(game: str, name: str) -> None:
    log = TUNINGS / game / f"{name}.toml"
    shipped = (FOLDER / game / f"{name}.toml").read_text()
    assert log.read_text().partition("\n[[generations]]")[0] + "\n" == shipped + "\n"
    tuning = load_tuning(str(log))
    assert (tuning.setup.game, tuning.preset, tuning.running) == (game, name, None)
    assert tuning.best is not None
    assert read_weights("ga", name)[game] == tuning.best[0]


def test_ga_plays_the_adjusted_weights_of_each_game_unless_told_otherwise() -> None:
    assert GeneticBot("mine").weights["features"] == read_weights("ga", "adjusted")
    tuning = load_tuning(str(TUNINGS / "risk-campaign" / "outlook" / "adjusted.toml"))
    assert (tuning.preset, tuning.running) == ("outlook", None)
    assert tuning.best is not None
    assert GeneticBot("mine").weights["outlook"] == {"risk-campaign": tuning.best[0]}
    assert GeneticBot("mine", weights="1/2/3/4").weights["features"] == dict.fromkeys(
        weighted_games(), (1.0, 2.0, 3.0, 4.0)
    )


def test_numbers_are_those_of_the_evaluation_that_has_as_many_and_others_keep_the_usual_ones() -> None:
    six = read_weights("ga", "1/2/3/4/5/6", "outlook")
    assert six == {"risk-campaign": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)}
    assert read_weights("ga", "1/2/3/4/5/6") == read_weights("ga", "equal")
    assert read_weights("ga", "1/2/3/4", "outlook") == {"risk-campaign": tuple(DEFAULT_OUTLOOK_WEIGHTS)}


@pytest.mark.parametrize("game", weighted_games())
def test_ga_moves_as_alphabeta_does_with_the_same_weights(game: str) -> None:
    rules = load_game(game)
    state = rules.initial(Dice(bytes(32), 0))[0]
    while rules.to_move(state) is not None and rules.ply(state) < 8:
        players = GeneticBot("mine", nodes=200), AlphaBeta("mine", nodes=200, weights="adjusted")
        one, other = (bot.choose(turn(rules, state)) for bot in players)
        assert one == other
        state = rules.apply(state, rules.decode_move(one.move), Dice(bytes(32), rules.ply(state)))[0]
