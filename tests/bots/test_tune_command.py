"""`arena-bot tune`: what it makes and shows, and what it refuses before the first game."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bots.commands.trial import Side, play_trial
from bots.commands.tune import TuneOptions, make_tuning
from bots.tuning.file import load_tuning, lock_tuning, save_tuning
from bots.tuning.genetic import Generation, Method, median_fitness, schedule_games
from bots.tuning.presets import tuning_presets
from bots.tuning.selfplay import TuningGame, play_adjusted
from bots.tuning.tuning import RunningGeneration, begin_generation, check_tuning
from bots.tuning.weights import read_weights, weighted_games
from commands import at_terminal, call, run
from measuring.score_format import format_score_with_interval
from measuring.value_registry import value_names
from protocol.games import load_game
from tournaments import threads
from tunings import tuned

TINY = ["genes=4", "tournaments=2", "best=1", "children=1", "mutants=1", "generations=2", "depth=1"]
SETS = [word for pair in TINY for word in ("--set", pair)]
COMMAND = [
    "risk-duel",
    "--preset",
    "quick",
    *SETS,
    "--config",
    "max_troops=5",
    "--config",
    "max_plies=60",
    "--seed",
    "s",
]
PLAIN = {"ARENA_PLAIN": "1"}


class Made:
    """A tuning that was played to its end, by compiled code."""

    def __init__(self, folder: Path) -> None:
        self.file, self.picture = folder / "w.toml", folder / "w.svg"
        code, self.out, self.err = tuned(*COMMAND, "--out", str(self.file), "--plot", str(self.picture))
        assert code == 0, self.err
        self.bytes = self.file.read_bytes()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("tune"))


def test_a_tuning_makes_weights_for_a_bot(made: Made) -> None:
    tuning = load_tuning(str(made.file))
    assert tuning.running is None
    assert [generation.number for generation in tuning.generations] == [1, 2]
    assert tuning.best is not None
    assert read_weights("ga", f"@{made.file}") == dict.fromkeys(weighted_games(), tuning.best[0])


ADJUSTED = [*(word for pair in TINY for word in ("--set", pair)), "--set", "seats=both", "--set", "step=0.5"]
LESS_LUCK = ["tune", "risk-duel", "--preset", "adjusted", *ADJUSTED, "--config", "map=world", "--seed", "s"]


@pytest.mark.nightly
def test_a_tuning_less_luck_is_the_same_bytes_with_two_workers_and_gone_on_with(tmp_path: Path) -> None:
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    assert run("arena-bot", *LESS_LUCK, "--jobs", "1", "--out", str(one)).returncode == 0
    tuning = load_tuning(str(one))
    assert tuning.value in value_names(load_game("risk-duel", {"map": "world"}))[:-1]
    assert {share for generation in tuning.generations for share in generation.fitness} - {0.0, 0.25, 0.5, 0.75, 1.0}
    genes = tuning.generations[1].genes
    meetings = schedule_games(tuning.method, "s", 2)[:2]
    games = [
        TuningGame(genes[meeting.first], genes[meeting.second], meeting.start, meeting.dice) for meeting in meetings
    ]
    first = play_adjusted(tuning.setup, games, tuning.version, str(tuning.value))
    begun = RunningGeneration(genes, (*first, None, None))
    save_tuning(replace(tuning, generations=tuning.generations[:1], running=begun), other)
    done = run("arena-bot", "tune", "risk-duel", "--resume", "--jobs", "2", "--out", str(other), **PLAIN)
    assert done.returncode == 0, done.stderr
    assert "games    8, 2 of them now in " in done.stdout
    assert other.read_bytes() == one.read_bytes()


def test_every_generation_is_told_in_a_line_where_there_is_no_terminal(made: Made) -> None:
    lines = [line for line in made.err.splitlines() if line.startswith("generation")]
    first, second = load_tuning(str(made.file)).generations
    assert lines[0].startswith(f"generation 1 of 2: best {max(first.fitness):.3f}, median ")
    assert lines[1].startswith(f"generation 2 of 2: best {max(second.fitness):.3f}, median ")
    assert all("; 2 games, " in line and line.endswith(" games/s") for line in lines)
    assert "\x1b" not in made.err


def test_the_command_in_the_file_makes_the_same_bytes_on_two_workers_with_a_bar_at_a_terminal(
    made: Made, tmp_path: Path
) -> None:
    words = shlex.split(made.bytes.decode().splitlines()[0].removeprefix("# "))
    done, shown = at_terminal(*words, "--jobs", "2", "--out", str(tmp_path / "w.toml"), COLUMNS="120", **PLAIN)
    first = load_tuning(str(made.file)).generations[0]
    told = f"best {max(first.fitness):.3f} median {median_fitness(first):.3f}"
    assert done.returncode == 0, shown
    assert (tmp_path / "w.toml").read_bytes() == made.bytes
    assert re.search(r"generation 1/2 \S+ 0/2 ", shown)
    assert re.search(rf"generation 2/2 \S+ 0/2 {told} [\d.,]+ games/s \d:\d\d:\d\d left", shown)
    assert done.stdout.splitlines()[:5] == made.out.splitlines()[:5]


def test_the_result_is_shown_within_80_columns(made: Made) -> None:
    best = load_tuning(str(made.file)).best
    assert best is not None
    weights = ", ".join(f"{weight:g}" for weight in best[0])
    lines = made.out.splitlines()
    assert lines[0] == "generation   best  median  fittest weights"
    assert lines[2].endswith(weights)
    assert f"weights  {weights}" in lines
    assert lines[-1] == f"play it  arena-bot run ga --game risk-duel --set weights=@{made.file}"
    assert max(len(line) for line in lines if str(made.file) not in line) <= 80


def test_what_came_out_is_measured_in_games_that_did_not_choose_it(made: Made) -> None:
    tuning = load_tuning(str(made.file))
    assert tuning.best is not None
    lines = made.out.splitlines()
    assert f"tuned    {tuning.best[1]:.3f}, the best of 4 in these games, partly by luck" in lines
    sides = Side("tuned", tuning.setup, tuning.best[0]), Side("equal", tuning.setup, tuning.setup.default_weights)
    with threads(1) as workers:
        again = play_trial(workers, sides, "s", 4, "none")
    assert f"fresh    {format_score_with_interval(again.score)}, in 8 other games against equal weights" in lines
    assert f"measure  arena-bot trial risk-duel @{made.file} equal" in lines


def test_of_many_generations_the_last_are_shown(tmp_path: Path) -> None:
    given = {"genes": "2", "tournaments": "1", "best": "1", "children": "0", "mutants": "1", "generations": "120"}
    tuning = make_tuning(TuneOptions("risk-duel", "quick", given, {}, "s"))
    while tuning.running is not None:
        number, genes = len(tuning.generations) + 1, tuning.running.genes
        generations = (*tuning.generations, Generation(number, genes, (0.25, 0.75)))
        tuning = replace(tuning, generations=generations, running=begin_generation(tuning.method, "s", generations))
    save_tuning(tuning, tmp_path / "w.toml")
    lines = call("arena-bot", "tune", "risk-duel", "--resume", "--out", str(tmp_path / "w.toml")).out.splitlines()
    assert lines[1] == "     1-100  are in the file"
    assert [int(line.split()[0]) for line in lines[2:22]] == list(range(101, 121))
    assert lines[22] == ""


def test_a_name_that_is_too_long_is_told_before_the_first_game(tmp_path: Path) -> None:
    name = "x" * 300 + ".toml"
    code, _, err = call("arena-bot", "tune", *COMMAND, "--jobs", "1", "--out", str(tmp_path / name))
    assert code == 1
    assert err.endswith(f"/{name} can't be written: File name too long\n")


def test_a_finished_tuning_is_shown_again(made: Made, tmp_path: Path) -> None:
    picture = tmp_path / "again.svg"
    code, out, err = call("arena-bot", "tune", "risk-duel", "--resume", "--out", str(made.file), "--plot", str(picture))
    assert (code, err) == (0, f"arena-bot: {made.file} is finished: no game is left to play\n")
    assert out.splitlines()[:5] == made.out.splitlines()[:5]
    assert made.file.read_bytes() == made.bytes
    assert picture.read_bytes() == made.picture.read_bytes()


def test_the_picture_has_a_dot_for_every_gene(made: Made) -> None:
    svg = ElementTree.parse(made.picture)
    groups = [group for group in svg.iter() if group.get("id", "").startswith("PathCollection_")]
    dots = [len(list(group.iter("{http://www.w3.org/2000/svg}use"))) for group in groups]
    assert dots == [4, 4, 1]  # two generations and the legend


def test_a_picture_is_of_the_form_that_its_name_says(made: Made, tmp_path: Path) -> None:
    picture = tmp_path / "p.PNG"
    code, _, _ = call("arena-bot", "tune", "risk-duel", "--resume", "--out", str(made.file), "--plot", str(picture))
    assert code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_cannot_be_finished_leaves_none(made: Made, tmp_path: Path) -> None:
    (tmp_path / "p.svg.part").symlink_to("/dev/full")
    picture = tmp_path / "p.svg"
    code, _, err = call("arena-bot", "tune", "risk-duel", "--resume", "--out", str(made.file), "--plot", str(picture))
    assert code == 1
    assert err.endswith(f"{picture} can't be written: No space left on device\n")
    assert list(tmp_path.iterdir()) == []


def test_a_drawn_seed_is_shown(tmp_path: Path) -> None:
    done = tuned("risk-duel", "--preset", "quick", *SETS, "--out", str(tmp_path / "w.toml"))
    seed = load_tuning(str(tmp_path / "w.toml")).seed
    assert len(seed) == 8
    assert f", seed {seed}\n" in done.err
    assert f"seed     {seed}\n" in done.out


@pytest.mark.parametrize(
    ("preset", "game"), [(preset, game) for preset in tuning_presets() for game in tuning_presets()[preset]]
)
def test_every_preset_can_be_played_and_kept(preset: str, game: str) -> None:
    tuning = make_tuning(TuneOptions(game, preset, {}, {}, "s"))
    check_tuning(tuning)
    assert (tuning.method, tuning.setup) == tuning_presets()[preset][game]
    assert tuning.running is not None
    assert len(tuning.running.scores) == tuning.method.games


def test_the_preset_paper_is_the_method_of_the_report() -> None:
    method = tuning_presets()["paper"]["risk-campaign"].method
    assert (method, method.games, method.total) == (Method(), 450, 1800)


REFUSED = [
    (["nim"], "'nim' has no weights to tune: one of risk-duel, risk-campaign"),
    (["risk-duel", "--preset", "best"], "there is no preset 'best': one of paper, paired, adjusted, outlook, quick"),
    (["risk-duel", "--set", "speed=1"], "--set has no 'speed': use one of genes, tournaments, "),
    (["risk-duel", "--set", "genes=many"], "genes is 'many': it must be an integer"),
    (["risk-duel", "--set", "genes=1"], "genes is 1: it must be an integer from 2 to 1000"),
    (["risk-duel", "--set", "highest=x"], "highest is 'x': it must be a number"),
    (["risk-duel", "--set", "generations=200"], "genes times generations is 20,000: the maximum is 15,000"),
    (["risk-duel", "--set", "depth=0"], "risk-duel: depth is '0': it must be an integer from 1 to 64"),
    (
        ["risk-campaign", "--set", "fitness=adjusted"],
        "fitness is 'adjusted': it must be 'results', because risk-campaign has no dice under this config",
    ),
    (["risk-campaign", "--config", "troops=3"], "risk-campaign has no config key 'troops': one of map, "),
    (["risk-duel", "--jobs", "2", "--dask", "tcp://x:1"], "--jobs is for this machine, --dask for a cluster: give one"),
    (["risk-duel", "--dask", "nowhere"], "the cluster's address is 'nowhere': it must be like tcp://"),
    (["risk-duel", "--seed", "a\nb"], "seed is 'a\\nb': it must have 1 to 64 printable characters"),
    (["risk-duel", "--out", "w.json"], "--out w.json: it must be a TOML file, like weights.toml"),
    (["risk-duel", "--out", "folder.toml"], "--out folder.toml can't be written: name a file in an existing folder"),
    (["risk-duel", "--out", "\udcff.toml"], "--out '\\udcff.toml': it must be the name of a file, in printable char"),
    (["risk-duel", "--out", "gone/w.toml"], "--out gone/w.toml can't be written: name a file in an existing folder"),
    (["risk-duel", "--out", "map.toml"], "map.toml exists: --resume continues with it, or name another --out"),
    (["risk-duel", "--resume"], "the file 'weights.toml' can't be read: No such file or directory"),
    (["risk-duel", "--resume", "--out", "map.toml"], "the file 'map.toml' is not a valid tuning: "),
    (["risk-duel", "--plot", "w.gif"], "--plot w.gif: the name of a plot must end in .svg, .png, .pdf"),
    (["risk-duel", "--plot", "gone/w.svg"], "--plot gone/w.svg can't be written: name a file in an existing folder"),
]
"""What this command checks, and one of each kind that is checked elsewhere."""


@pytest.mark.parametrize(("args", "says"), REFUSED)
def test_wrong_usage_is_one_line_before_the_first_game(
    args: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("map.toml").write_text("speed = 1\n")
    Path("folder.toml").mkdir()
    code, out, err = call("arena-bot", "tune", *args)
    assert (code, out) == (2, "")
    assert err.startswith(f"arena-bot: {says}")
    assert err.count("\n") == 1
    assert sorted(os.listdir()) == ["folder.toml", "map.toml"]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["risk-campaign"], "GAME is 'risk-campaign', but in w.toml it is 'risk-duel': write risk-duel"),
        (["risk-duel", "--preset", "paper"], "--preset is 'paper', but in w.toml it is 'quick': leave it out"),
        (["risk-duel", "--seed", "t"], "--seed is 't', but in w.toml it is 's': leave it out"),
        (["risk-duel", "--set", "genes=4", "--set", "best=2"], "--set best is 2, but in w.toml it is 1: leave it out"),
        (["risk-duel", "--set", "nodes=100"], "--set nodes is 100, but in w.toml it is none: leave it out"),
        (["risk-duel", "--set", "depth=none"], "--set depth is none, but in w.toml it is 1: leave it out"),
        (["risk-duel", "--config", "max_troops=6"], "--config max_troops is 6, but in w.toml it is 5: leave it out"),
    ],
)
def test_what_differs_from_the_file_is_refused_by_its_option(
    args: list[str], says: str, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made.file.parent)
    code, _, err = call("arena-bot", "tune", *args, "--resume", "--out", "w.toml")
    assert (code, err) == (2, f"arena-bot: {says}, or name another --out\n")


@pytest.mark.parametrize("options", [[], ["--resume"]], ids=["anew", "--resume"])
def test_a_file_that_another_process_is_tuning_is_refused(options: list[str], tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    with lock_tuning(file):
        code, _, err = call("arena-bot", "tune", *COMMAND, *options, "--out", str(file))
    says = f"arena-bot: another process is tuning {file}: wait until it ends, or name another --out\n"
    assert (code, err) == (1, says)
    assert list(tmp_path.iterdir()) == []


def test_what_is_as_in_the_file_may_be_given_again(made: Made) -> None:
    code, out, _ = call("arena-bot", "tune", *COMMAND, "--resume", "--out", str(made.file))
    assert (code, out.splitlines()[:5]) == (0, made.out.splitlines()[:5])


def test_another_versions_games_are_not_mixed_with_these(tmp_path: Path) -> None:
    old = replace(make_tuning(TuneOptions("risk-duel", "quick", {}, {}, "s")), version="0.0.1")
    save_tuning(old, tmp_path / "w.toml")
    code, _, err = call("arena-bot", "tune", "risk-duel", "--resume", "--out", str(tmp_path / "w.toml"))
    assert code == 2
    assert "w.toml is of bot-arena '0.0.1', this is " in err


def test_without_matplotlib_a_picture_is_refused_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bots.tuning.plot.find_spec", lambda name: None)
    code, _, err = call("arena-bot", "tune", "risk-duel", "--plot", "w.svg")
    assert (code, err) == (2, "arena-bot: --plot needs matplotlib: pip install 'bot-arena[plot]'\n")
