"""A tuning on disk: what is written is read back, and anything else is refused in one line."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bots.tuning.file import TuningNotSaved, load_tuning, lock_tuning, save_tuning
from bots.tuning.genetic import Generation, Method, fittest_index
from bots.tuning.presets import TuningPreset, tuning_presets
from bots.tuning.selfplay import Setup
from bots.tuning.tuning import RunningGeneration, Tuning, begin_generation, format_command, format_config
from bots.tuning.weights import read_weights, weighted_games
from games.risk.search.settings import CampaignSettings, DuelSettings
from protocol.errors import ArenaFault, UsageFault
from protocol.games import load_game
from volumes import examples

METHOD = Method(genes=4, tournaments=2, starts=3, best=1, children=2, mutants=1, generations=2)
SEED = "s"


def tuning(finished: int, scores: str = "") -> Tuning:
    """So many finished generations, of the next the first games played."""
    generations: tuple[Generation, ...] = ()
    for number in range(1, finished + 1):
        running = begin_generation(METHOD, SEED, generations)
        assert running is not None
        generations += (Generation(number, running.genes, (0.333333, 0.5, 0.833333, 0.333333)),)
    running = begin_generation(METHOD, SEED, generations)
    if running is not None:
        known = tuple({"1": 1.0, "0": 0.0, "=": 0.5}[score] for score in scores)
        running = RunningGeneration(running.genes, known + running.scores[len(known) :])
    setup = Setup("risk-duel", DuelSettings(), format_config({"max_troops": 5, "map": "africa"}), depth=3)
    return Tuning(
        preset="quick",
        seed=SEED,
        version="0.1.0",
        method=METHOD,
        setup=setup,
        generations=generations,
        running=running,
    )


def freed(finished: int, *scores: float) -> Tuning:
    stage = tuning(finished)
    method = replace(stage.method, fitness="adjusted")
    generations = tuple(each._replace(fitness=(-0.020816, 0.5, 0.54, 1.003)) for each in stage.generations)
    running = begin_generation(method, SEED, generations)
    if running is not None:
        running = RunningGeneration(running.genes, (*scores, *running.scores[len(scores) :]))
    return replace(stage, method=method, value="exact", generations=generations, running=running)


STAGES = [tuning(0), tuning(0, "10="), tuning(1), tuning(1, "10=101"), tuning(2)]


@pytest.mark.parametrize("stage", [*STAGES, freed(0), freed(1, 1.0312, -0.0415, 0.5), freed(2)])
def test_what_is_written_is_read_back(stage: Tuning, tmp_path: Path) -> None:
    save_tuning(stage, tmp_path / "w.toml")
    assert load_tuning(str(tmp_path / "w.toml")) == stage


def test_what_luck_was_measured_by_and_games_less_luck_are_in_the_file(tmp_path: Path) -> None:
    save_tuning(freed(1, 1.0312, -0.0415, 0.5), tmp_path / "w.toml")
    table = tomllib.loads((tmp_path / "w.toml").read_text())
    assert (table["provenance"]["value"], table["method"]["fitness"]) == ("exact", "adjusted")
    assert table["running"]["scores"] == "1.0312 -0.0415 0.5000 . . .\n"


def test_a_finished_file_outlives_what_luck_was_measured_by(tmp_path: Path) -> None:
    for stage in (freed(2), freed(1)):
        save_tuning(replace(stage, value="fitted-0"), tmp_path / "w.toml")
        if stage.running is None:
            assert load_tuning(str(tmp_path / "w.toml")).value == "fitted-0"
        else:
            with pytest.raises(UsageFault, match="not a valid tuning: value is 'fitted-0': one of "):
                load_tuning(str(tmp_path / "w.toml"))


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        ('value = "exact"\n', "", "value is None: one of "),
        ('fitness = "adjusted"', 'fitness = "results"', "population of generation 1, line 1 is "),
        ('fitness = "adjusted"', 'fitness = "points"', "fitness is 'points': one of results, adjusted"),
        ("0.5000 .", "nan .", "scores of running has 'nan': a number with 4 decimals, or . where the game was not"),
        ("0.5000 .", "0.5 .", "scores of running has '0.5': a number with 4 decimals"),
        ("0.5000 .", "0.5000", "scores of running has 5 numbers: there must be one for each of 6 games"),
        ("  1.003000", "       nan", "four weights from 0 to 10 and a fitness from -10 to 10"),
    ],
)
def test_a_file_less_luck_that_contradicts_itself_is_refused_by_its_key(
    right: str, wrong: str, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "w.toml"
    save_tuning(freed(1, 1.0312, -0.0415, 0.5), file)
    assert right in file.read_text()
    file.write_text(file.read_text().replace(right, wrong, 1))
    with pytest.raises(UsageFault) as refused:
        load_tuning(str(file))
    assert why in str(refused.value)


def test_a_map_in_the_config_is_read_back(tmp_path: Path) -> None:
    stage = tuning(1)
    stage = replace(
        stage, setup=stage.setup._replace(config=format_config({"map": load_game("risk-duel").config["map"]}))
    )
    save_tuning(stage, tmp_path / "w.toml")
    assert load_tuning(str(tmp_path / "w.toml")) == stage


def test_the_same_tuning_is_the_same_bytes(tmp_path: Path) -> None:
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    save_tuning(tuning(1, "10="), one)
    save_tuning(load_tuning(str(one)), other)
    assert other.read_bytes() == one.read_bytes()


def test_the_weights_are_the_fittest_of_the_last_generation(tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    save_tuning(tuning(2), file)
    last = tuning(2).generations[-1]
    assert read_weights("ga", f"@{file}") == dict.fromkeys(weighted_games(), last.genes[fittest_index(last)])
    assert tomllib.loads(file.read_text())["provenance"]["fitness"] == 0.833333


def test_before_a_generation_is_finished_there_are_no_weights(tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    save_tuning(tuning(0, "10="), file)
    with pytest.raises(UsageFault, match="the tuning has no finished generation yet"):
        read_weights("ga", f"@{file}")


def test_the_games_played_so_far_are_counted() -> None:
    assert [stage.games for stage in STAGES] == [0, 3, 6, 12, 12]


def test_the_first_line_is_the_command(tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    save_tuning(tuning(0), file)
    sets = ["genes=4", "starts=3", "best=1", "children=2", "mutants=1", "generations=2", "depth=3"]
    words = " ".join(f"--set {word}" for word in sets)
    expected = f"# arena-bot tune risk-duel --preset quick {words} --config map=africa --config max_troops=5 --seed s"
    assert file.read_text().splitlines()[0] == expected


def test_a_word_of_the_command_is_quoted_for_a_shell() -> None:
    stage = tuning(0)
    setup = Setup("risk-campaign", CampaignSettings(), format_config({"deal": "1" * 32, "battle": "dice"}), nodes=1000)
    said = format_command(replace(stage, seed="it's", setup=setup))
    assert said.endswith(
        """--config battle=dice --config 'deal="11111111111111111111111111111111"' --seed 'it'"'"'s'"""
    )


def test_a_file_outlives_the_numbers_of_its_preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "w.toml"
    save_tuning(tuning(1), file)
    before = file.read_text().splitlines()
    monkeypatch.setitem(
        tuning_presets(), "quick", {"risk-duel": TuningPreset(METHOD, Setup("risk-duel", DuelSettings(), nodes=9))}
    )  # type: ignore[arg-type]
    assert load_tuning(str(file)) == tuning(1)
    save_tuning(tuning(1), file)
    assert file.read_text().splitlines()[1:] == before[1:]
    assert "--preset quick --set depth=3 --set nodes=none --config" in file.read_text().splitlines()[0]


def test_every_gene_of_a_generation_is_a_line_of_a_table(tmp_path: Path) -> None:
    save_tuning(tuning(1), tmp_path / "w.toml")
    table = tomllib.loads((tmp_path / "w.toml").read_text())["generations"][0]
    rows = [tuple(map(float, line.split())) for line in table["population"].splitlines()]
    generation = tuning(1).generations[0]
    assert rows == [(*gene, share) for gene, share in zip(generation.genes, generation.fitness, strict=True)]
    assert (table["number"], table["best"], table["median"]) == (1, 0.833333, 0.416666)


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        ('game = "risk-duel"', 'game = "nim"', "'nim' has no weights to tune: one of risk-duel, risk-campaign"),
        ('game = "risk-duel"', "", "game is missing: text"),
        ("genes = 4", 'genes = "4"', "genes is '4': it must be an integer from 2 to 1000"),
        ("genes = 4", "genes = 5", "tournaments is 2: it must divide genes, 5"),
        ("tournaments = 2", "tournaments = 0", "tournaments is 0: it must be an integer from 1 to 2"),
        ("genes = 4", "genes = 6", "population of generation 1 has 4 lines: there must be one for each of 6 genes"),
        ("starts = 3", "starts = 2", "scores of running has 6 characters: there must be one for each of 4 games"),
        ("generations = 2\nhighest", "generations = 1\nhighest", "1 generations are finished, but the method has 1"),
        ('seats = "drawn"', 'seats = "both "', "seats is 'both ': one of drawn, both"),
        ("depth = 3", "", "the search needs depth"),
        ("depth = 3", "depth = 65", "depth is '65': it must be an integer from 1 to 64"),
        ("max_troops = 5", "max_troops = 1", "max_troops is 1"),
        ("max_troops = 5", "max_troops = 1979-05-27", "max_troops is '1979-05-27'"),
        ("max_troops = 5", "troops = 5", "risk-duel has no config key 'troops'"),
        (
            'preset = "quick"',
            'preset = "best"',
            "there is no preset 'best': one of paper, paired, adjusted, outlook, quick",
        ),
        ('seed = "s"', 'seed = ""', "seed is '': it must have 1 to 64 printable characters"),
        ("finished = false", "finished = true", "finished is True, but the rest of the file says False"),
        ("games = 9", "games = 10", "provenance.games is 10, but the rest of the file says 9"),
        ("fitness = 0.833333", "fitness = 0.9", "provenance.fitness is 0.9, but the rest of the file says 0.833333"),
        ("best = 0.833333", "best = 1.0", "generations 1.best is 1.0, but the rest of the file says 0.833333"),
        ("number = 2", "number = 3", "running.number is 3, but the rest of the file says 2"),
        ("highest = 10.0", "highest = 0.5", "population of generation 1, line 1 is"),
        ("  0.833333", "  1.833333", "four weights from 0 to 10 and a fitness from 0 to 1"),
        ("  0.833333", "", "four weights from 0 to 10 and a fitness from 0 to 1"),
        ("10=...", "10-...", "scores of running has the character '-': one of 1 0 = ."),
        ("[search]", "[search]\nspeed = 1", "there is an unknown key 'search.speed'"),
        ("genes = 4\n", "", "there is no key method.genes"),
        (
            'seed = "s"',
            'seed = "s"\nvalue = "exact"',
            "value is 'exact': it must be none, because fitness is 'results'",
        ),
        ('seed = "s"', "seed = 4", "provenance: seed is 4: text"),
        ("depth = 3", 'depth = "deep"', "search: depth is 'deep': an integer"),
        ("[running]", "[run]", "1 generations are finished, but the method has 2"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused_by_its_key(right: str, wrong: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    save_tuning(tuning(1, "10="), file)
    text = file.read_text()
    assert right in text
    file.write_text(text.replace(right, wrong, 1))
    with pytest.raises(UsageFault) as refused:
        load_tuning(str(file))
    assert "w.toml' is not a valid tuning: " in str(refused.value)
    assert why in str(refused.value)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("digits", ["9" * 5000, "0x" + "f" * 5000, "0o" + "7" * 6000, "0b" + "1" * 50_000])
def test_a_number_of_thousands_of_digits_is_refused_in_one_line(digits: str, tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    save_tuning(tuning(1, "10="), file)
    file.write_text(file.read_text().replace("genes = 4", f"genes = {digits}", 1))
    for use in (lambda: load_tuning(str(file)), lambda: read_weights("ga", f"@{file}")):
        with pytest.raises(UsageFault) as refused:
            use()
        says = f"{file.name}' can't be read: a number has more than 4300 digits"
        assert str(refused.value).endswith(says), str(refused.value)


@pytest.mark.parametrize("content", [b"", b"weights = [1, 1, 1, 1]", b"# arena-bot\n[method]", b"\xff\x00", b"x"])
def test_a_foreign_file_is_refused_by_its_name(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    file.write_bytes(content)
    with pytest.raises(UsageFault, match=r"^the file '.*w\.toml' is "):
        load_tuning(str(file))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("tuned") / "sound.toml"
    save_tuning(tuning(1, "10="), file)
    return file


@settings(max_examples=examples(100, nightly=400))
@given(data=st.data())
def test_a_damaged_file_is_read_whole_or_refused_in_one_line(sound: Path, data: st.DataObject) -> None:
    text = sound.read_text()
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + data.draw(st.sampled_from([0, 1, 3, 2000])))))
    patch = st.sampled_from(["", "0", "9", "-", "nan", "1e400", "true", '"', "\n", "[", "[x]\n", f"0x{'f' * 5000}"])
    file = sound.with_name("damaged.toml")
    file.write_text(text[:begin] + data.draw(patch | st.text(max_size=3)) + text[end:], encoding="utf-8")
    try:
        held = load_tuning(str(file))
    except UsageFault as refused:
        assert "damaged.toml' " in str(refused)  # noqa: PT017
        assert str(refused).isprintable()  # noqa: PT017
    else:
        save_tuning(held, file)
        assert load_tuning(str(file)) == held


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    save_tuning(tuning(1), file)
    before = file.read_bytes()
    (tmp_path / "w.toml.part").symlink_to("/dev/full")
    with pytest.raises(TuningNotSaved) as refused:
        save_tuning(tuning(2), file)
    kept = f"{file} keeps what it held, and --resume continues from there"
    assert str(refused.value) == f"{file} can't be written: No space left on device; {kept}"
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(TuningNotSaved, match=r"gone/w\.toml can't be written: No such file or directory$"):
        save_tuning(tuning(0), tmp_path / "gone" / "w.toml")


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link.toml").symlink_to(tmp_path / "w.toml")
    save_tuning(tuning(1), tmp_path / "link.toml")
    assert (tmp_path / "link.toml").is_symlink()
    assert load_tuning(str(tmp_path / "w.toml")) == tuning(1)


def test_a_file_is_tuned_by_one_at_a_time_under_any_name(tmp_path: Path) -> None:
    file, link, other = (tmp_path / name for name in ("w.toml", "link.toml", "other.toml"))
    link.symlink_to(file)
    with lock_tuning(file), lock_tuning(other):
        for name in (file, link):
            with pytest.raises(ArenaFault) as refused, lock_tuning(name):
                pass
            says = f"another process is tuning {name}: wait until it ends, or name another --out"
            assert str(refused.value) == says
    assert list(tmp_path.iterdir()) == [link]
    with lock_tuning(link):
        assert sorted(path.name for path in tmp_path.iterdir()) == ["link.toml", "w.toml.lock"]


def test_a_lock_that_was_left_behind_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "w.toml.lock").touch()
    with lock_tuning(tmp_path / "w.toml"), pytest.raises(ArenaFault), lock_tuning(tmp_path / "w.toml"):
        pass
    assert list(tmp_path.iterdir()) == []
