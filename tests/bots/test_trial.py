"""`arena-bot trial`: what is played, what is made of it, what is shown, and what is refused before the first game."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import asdict

import games.risk
from bots.commands.trial import Side, play_trial, read_setup, read_side, summarize_games
from bots.tuning.presets import tuning_presets
from bots.tuning.selfplay import ScoreAndLuck, TuningGame, play_with_luck
from commands import at_terminal, call, ends, started
from games.risk.search.settings import CampaignSettings
from machine.workers.local import WorkerPool
from process_tree import children
from protocol import VERSION
from protocol.errors import UsageFault
from timeouts import WITHIN, found_in
from tournaments import threads
from tunings import tried
from volumes import examples

PLAIN = {"ARENA_PLAIN": "1"}
DUEL = ["risk-duel", "--set", "depth=1", "--config", "max_troops=5"]
ALONE = ["arena-bot", "trial", *DUEL, "equal", "paper", "--jobs", "1"]
VALUE = "features-1"
LONG = "2.5/4.25/3.5/4.8", "8.15/2.85/5.3/2.45:draft=greedy"
WORLD = "map=world", "max_rounds=10"


@pytest.fixture(scope="module")
def crew() -> Iterator[WorkerPool]:
    with threads(2) as crew:
        yield crew


def sides(one: str, other: str, game: str = "risk-duel", config: tuple[str, ...] = ()) -> tuple[Side, Side]:
    setup = read_setup(game, "paired", config, ["depth=1"])
    return read_side(setup, one), read_side(setup, other)


@pytest.mark.parametrize(
    ("first_side", "game", "config"),
    [
        ("equal:depth=2", "risk-duel", ()),
        ("equal:draft=random", "risk-campaign", ("map=africa", "max_rounds=5", "battle=dice")),
    ],
)
def test_the_games_are_those_of_each_side_from_either_seat_of_every_start_with_dice_of_their_own(
    first_side: str, game: str, config: tuple[str, ...], crew: WorkerPool
) -> None:
    one, other = sides(first_side, "1,0,2,0", game, config)
    deals = [f"trial/s/{k}" for k in range(9)]
    first = [TuningGame(one.weights, other.weights, deal, f"{deal}/0") for deal in deals]
    second = [TuningGame(other.weights, one.weights, deal, f"{deal}/1") for deal in deals]
    freed = [
        play_with_luck(one.setup, first, VERSION, VALUE, other.setup),
        play_with_luck(other.setup, second, VERSION, VALUE, one.setup),
    ]
    assert len({game.score for games in freed for game in games}) > 1
    played: list[None] = []
    found = play_trial(crew, (one, other), "s", 9, VALUE, lambda: played.append(None))
    assert found == summarize_games(*freed, has_luck=True)
    assert len(played) == 18


def test_another_seed_gives_other_games(crew: WorkerPool) -> None:
    pair = sides("paper", "1,0,2,0")
    assert len({play_trial(crew, pair, seed, 8, VALUE).score.score for seed in "abc"}) > 1


def test_a_side_that_drafts_at_random_loses_by_far(crew: WorkerPool) -> None:
    pair = sides("equal:draft=random,horizon=plies", "equal:horizon=plies", "risk-campaign", WORLD)
    outcome = play_trial(crew, pair, "s", 14, "none")
    assert outcome.score.high < 0.4


def test_a_side_against_itself_is_not_said_to_be_better(crew: WorkerPool) -> None:
    outcome = play_trial(crew, sides("paper", "paper"), "s", examples(16, nightly=30), VALUE)
    assert outcome.adjusted is not None
    for found in (outcome.score, outcome.adjusted):
        assert found.low < 0.5 < found.high
    assert outcome.adjusted.high - outcome.adjusted.low < (outcome.score.high - outcome.score.low) / 2


def test_without_a_value_nothing_is_said_of_luck(crew: WorkerPool) -> None:
    outcome = play_trial(crew, sides("paper", "equal"), "s", 3, "none")
    assert (outcome.adjusted, outcome.worth, outcome.factor) == (None, None, None)


def test_scores_are_summed_up_from_the_side_s_view() -> None:
    outcome = summarize_games(
        [ScoreAndLuck(1.0, 0.4), ScoreAndLuck(1.0, 0.5), ScoreAndLuck(0.5, 0.0)],
        [ScoreAndLuck(0.0, -0.4), ScoreAndLuck(1.0, 0.5), ScoreAndLuck(0.0, -0.6)],
        has_luck=True,
    )
    assert outcome[:5] == (6, 4, 1, 1, 3.5 / 6)
    assert outcome.score.score == 4.5 / 6
    assert outcome.adjusted is not None
    assert outcome.adjusted.score == pytest.approx((4.5 - 0.4 - 0.5 - 0.4 + 0.5 - 0.6) / 6)


def test_a_side_has_weights_and_settings_of_its_own() -> None:
    setup = read_setup("risk-campaign", "paired", [], ["depth=2"])
    side = read_side(setup, "1,2,3,4:depth=none,nodes=500,horizon=turns")
    assert side.weights == (1.0, 2.0, 3.0, 4.0)
    assert side.setup == setup._replace(depth=None, nodes=500, settings=CampaignSettings("sure", "turns", "rule"))
    assert read_side(setup, "1/2/3/4").setup == setup
    assert read_setup("risk-duel", "quick", [], []) == tuning_presets()["quick"]["risk-duel"].setup


def test_the_file_of_a_tuning_is_a_side() -> None:
    file = Path(games.risk.__file__).parent / "tuning" / "weights" / "risk-duel" / "paper.toml"
    setup = read_setup("risk-duel", "paired", [], [])
    by_name, by_file = read_side(setup, "paper:depth=1"), read_side(setup, f"@{file}:depth=1")
    assert by_file == by_name._replace(name=f"@{file}:depth=1")
    assert by_name.weights != read_side(setup, "equal").weights


def test_the_result_is_shown_within_80_columns_with_the_seed_that_was_drawn() -> None:
    done = tried(*DUEL, *LONG, "--starts", "32", "--value", "fitted-1")
    assert (done.code, done.err) == (0, "")
    unfolded = done.out.replace("\n" + " " * 11, " ")
    shown = dict(re.fullmatch(r"(.{11})(.*)", line).groups() for line in unfolded.splitlines())  # type: ignore[union-attr]
    told = {key.strip(): value for key, value in shown.items()}
    score, elo = r"-?\d\.\d{3} \(-?\d\.\d{3}--?\d\.\d{3}\)", r"Elo \S+ \(\S+ to \S+\), better [<>\d. ]+ %"
    assert (told["game"], told["search"]) == ("risk-duel: max_troops 5", "depth 1")
    assert (told["one"], told["other"]) == LONG
    assert re.fullmatch(r"64, each start from both seats; [\d.]+ games/s", told["games"])
    assert re.fullmatch(rf"{score} of the points for one; {elo}", told["score"])
    worth = r"worth [\d,]+ games, \S+ \(\S+-\S+\) times as many; "
    assert re.fullmatch(rf"{score} by fitted-1; {worth}{elo}", told["adjusted"])
    assert re.fullmatch(r"\d+, drawn \d+, lost \d+", told["won"])
    assert re.fullmatch(r"[0-9a-f]{8}", told["seed"])
    assert max(map(len, done.out.splitlines())) <= 80


def test_long_names_and_configs_are_broken_over_lines(tmp_path: Path) -> None:
    folder = tmp_path / ("deep-" * 20)
    folder.mkdir()
    file = folder / "w.toml"
    file.write_text("weights = [1, 2, 3, 4]\n")
    setting = "depth=1,nodes=100000,battles=means,horizon=plies,draft=greedy"
    config = [word for pair in (*WORLD, "max_attacks=1", "initial_units=1") for word in ("--config", pair)]
    args = ["risk-campaign", f"@{file}:{setting}", f"1.125/2.125/3.125/4.125:{setting}", *config]
    done = tried(*args, "--starts", "1", "--seed", "s" * 64)
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    assert f"@{file}:{setting}" in done.out.replace("\n" + " " * 11, "")
    assert "draft=greedy" in done.out
    assert "adjusted" not in done.out, "one start says nothing of luck"
    assert done.out.endswith(f"\nseed       {'s' * 64}\n")


def test_json_has_the_result_and_all_that_it_takes_to_repeat_it(crew: WorkerPool) -> None:
    done = tried(*DUEL, "paper", "equal:nodes=9", "--starts", "4", "--seed", "s", "--value", VALUE, "--json")
    assert (done.code, done.err) == (0, "")
    held = json.loads(done.out)
    said = {key: held.pop(key) for key in ("version", "game", "config", "seed", "sides")}
    pair = tuple(
        read_side(read_setup("risk-duel", "paired", ["max_troops=5"], ["depth=1"]), name)
        for name in ("paper", "equal:nodes=9")
    )
    search = {"depth": 1, "nodes": None, "battles": "means", "horizon": "turns", "draft": "rule"}
    assert said == {
        "version": VERSION,
        "game": "risk-duel",
        "config": {"max_troops": 5},
        "seed": "s",
        "sides": [
            {"name": "paper", "weights": list(pair[0].weights), **search},
            {"name": "equal:nodes=9", "weights": [1, 1, 1, 1], **search, "nodes": 9},
        ],
    }
    found = play_trial(crew, pair, "s", 4, VALUE)
    assert found.adjusted is not None
    assert held == {
        **found._asdict(),
        **asdict(found.score),
        "elo": asdict(found.score.elo),
        "value": VALUE,
        "adjusted": {**asdict(found.adjusted), "elo": asdict(found.adjusted.elo)},
        "factor": found.factor and found.factor._asdict(),
    }


def test_at_a_terminal_the_bar_keeps_out_of_standard_output() -> None:
    done, shown = at_terminal(
        "arena-bot", "trial", *DUEL, "equal", "paper", "--starts", "2", "--jobs", "1", "--json", **PLAIN
    )
    told = json.loads(done.stdout)
    assert (told["games"], told["value"]) == (4, "fitted-1")
    assert "\x1b" not in done.stdout
    assert "games" in shown


REFUSED = [
    (["nim", "equal", "equal"], "'nim' has no weights to tune: one of risk-duel, risk-campaign"),
    (["risk-duel", "nobody", "equal"], "side 'nobody': weights is 'nobody': give four numbers of 0 or more"),
    (["risk-campaign", "1,2,3,4:eval=outlook", "equal"], "side '1,2,3,4:eval=outlook': these are not weights of outlo"),
    (["risk-duel", "@\udcff.toml", "equal"], "side '@\\udcff.toml': use printable characters"),
    (["risk-duel", "equal:", "equal"], "side 'equal:': '': it must be key=value"),
    (["risk-duel", "equal:genes=5", "equal"], "side 'equal:genes=5': the search has no setting 'genes': use one of "),
    (["risk-duel", "equal", "equal:depth=x"], "side 'equal:depth=x': depth is 'x': it must be an integer, or none"),
    (["risk-duel", "equal", "equal:depth=0"], "side 'equal:depth=0': risk-duel: depth is '0': it must be an integer"),
    (["risk-duel", "equal", "equal", "--set", "speed=1"], "--set: the search has no setting 'speed': use one of "),
    (
        ["risk-campaign", "equal", "equal", "--config", "players=3"],
        "risk-campaign: players is 3: it must be 2, because",
    ),
    (["risk-campaign", "equal", "equal", "--config", "troops=3"], "risk-campaign has no config key 'troops': one of"),
    (["risk-duel", "equal", "equal", "--starts", "0"], "--starts is 0: 1 to 1,000,000"),
    (["risk-duel", "equal", "equal", "--starts", "1000001"], "--starts is 1,000,001: 1 to 1,000,000"),
    (["risk-duel", "equal", "equal", "--value", "fit"], "--value is 'fit': one of "),
    (["risk-duel", "equal", "equal", "--jobs", "0"], "--jobs is 0: it must be 1 to 1024"),
    (["risk-duel", "equal", "equal", "--seed", ""], "seed is '': it must have 1 to 64 printable characters"),
]
"""What this command checks, and one of each kind that is checked elsewhere."""


@pytest.mark.parametrize(("args", "says"), REFUSED)
def test_wrong_usage_is_one_line_before_the_first_game(args: list[str], says: str) -> None:
    code, out, err = call("arena-bot", "trial", *args)
    assert (code, out) == (2, "")
    assert err.startswith(f"arena-bot: {says}")
    assert err.count("\n") == 1


def test_a_search_without_an_end_of_its_own_is_refused_though_sides_have_one() -> None:
    with pytest.raises(UsageFault, match="--set: risk-duel: the search needs depth"):
        read_setup("risk-duel", "paired", [], ["depth=none"])


def workers_of(pid: int) -> list[int]:
    """The worker processes that have begun: they have a thread that waits for the end of what started them."""
    return [child for child in children(pid) if len(os.listdir(f"/proc/{child}/task")) > 1]


@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.ci)])
def test_a_trial_that_is_stopped_says_so_in_a_line_and_leaves_no_workers(how: signal.Signals, tmp_path: Path) -> None:
    with started(
        "arena-bot", "trial", *DUEL, "equal", "paper", "--starts", "100000", "--jobs", "1", **PLAIN
    ) as process:
        workers = found_in(tmp_path, lambda: workers_of(process.pid) or None)
        for pid in (*workers, process.pid) if how == signal.SIGINT else (process.pid,):  # Ctrl-C reaches all
            os.kill(pid, how)
        out, err = process.communicate(timeout=WITHIN)
    assert (process.returncode, out) == (130, "")
    assert err == "arena-bot: stopped before the last game: a trial has no result before that\n"
    assert len(workers) == 1
    assert all(ends(pid) for pid in workers)
