"""Two versions of a game's rules have ratings of their own, and rules that changed under one version are refused."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from arena.store.result_queries import iter_results, leaderboard_of, rated_pools
from arena.store.rules_check import check_rules
from arena.store.store import Reader, Store
from arena.web.lookups import list_pools
from arena.web.site import Site
from arena.web.strengths import strengths
from arena.web.titles import pool_title
from commands import REPOSITORY, call
from machine.game_discovery import GAME_FILES_VARIABLE, GameFileFault, add_game_file
from protocol.errors import UsageFault
from protocol.games import game_names, load_game, remove_game
from protocol.pools import preset_of, version_of, with_version
from tournaments import played
from web_client import answer, served

RACE = re.search(r"```python\n(.*?)```", (REPOSITORY / "docs" / "own-game.md").read_text("utf-8"), re.DOTALL)


@pytest.fixture(autouse=True)
def forget_games(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = game_names()
    monkeypatch.delenv(GAME_FILES_VARIABLE, raising=False)
    yield
    for name in set(game_names()) - set(before):
        remove_game(name)
    os.environ.pop(GAME_FILES_VARIABLE, None)


def load(version: str, comment: str = "", source: str = "") -> Path:
    """Write the file of race with a version, in place of the one before, and load it."""
    assert RACE is not None
    file = Path("race.py")
    text = source or RACE[1].replace('name = "race"', f'name = "race"\n    version = "{version}"')
    file.write_text(f"{text}\n# {comment}\n")
    if "race" in game_names():
        remove_game("race")
    add_game_file(file)
    return file


def play(seed: str = "1") -> None:
    words = ("--game", "race.py", "--rounds", "2", "--data", "data", "--in-process", "--seed", seed)
    done = played("arena", "tournament", "random", "greedy", *words)
    assert done.code == 0, done.err


@pytest.fixture(scope="module")
def first_played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a tournament under version 1."""
    folder = tmp_path_factory.mktemp("first")
    with contextlib.chdir(folder):
        load("1")
        play()
        remove_game("race")
    return folder / "data"


@pytest.fixture
def first_version(first_played: Path) -> None:
    """Put a copy of that folder here, beside the rules of version 1."""
    shutil.copytree(first_played, "data")
    load("1")


@pytest.mark.parametrize(
    ("pool", "preset", "version", "second"),
    [
        ("race/classic", "classic", "1", "race/classic:v2"),
        ("race/classic:people", "classic", "1", "race/classic:v2:people"),
        ("race/classic:v1.5", "classic", "1.5", "race/classic:v2"),
        ("race/classic:v1.5:people", "classic", "1.5", "race/classic:v2:people"),
        ("race/unrated", "unrated", "1", "race/unrated:v2"),
    ],
)
def test_a_pool_names_the_version_of_its_rules(pool: str, preset: str, version: str, second: str) -> None:
    assert (preset_of(pool), version_of(pool)) == (preset, version)
    assert preset_of(pool.partition("/")[2]) == preset
    assert with_version(pool, "2") == second
    assert with_version(second, version) == pool


def test_the_first_version_has_the_pools_of_a_game_without_versions() -> None:
    load("1")
    assert load_game("race").pools == ["race/classic", "race/classic:people"]
    load("2")
    assert load_game("race").pools == ["race/classic:v2", "race/classic:v2:people"]


@pytest.mark.parametrize("version", ["", "2:people", "a b", "x" * 21, "1/2"])
def test_a_version_that_no_pool_can_name_is_refused(version: str) -> None:
    with pytest.raises(GameFileFault, match=r"race.py, line \d+: Race: version is .*: it is a text of 1 to 20 letters"):
        load(version)


def test_a_version_of_a_game_in_the_long_form_is_checked_too() -> None:
    source = (
        "from games.tictactoe.rules import TicTacToe\n\n\nclass Race(TicTacToe):\n    name = 'race'\n    version = 2\n"
    )
    with pytest.raises(GameFileFault, match=r"race.py: the version of race is 2: it is a text of"):
        load("1", source=source)


@pytest.mark.usefixtures("first_version")
def test_two_versions_are_rated_apart_and_everything_goes_on() -> None:
    load("2")
    play("2")
    with closing(Reader.open(Path("data/arena.db"))) as reader:
        assert reader.read(rated_pools) == ["race/classic", "race/classic:v2"]
        boards = [reader.read(leaderboard_of, pool) for pool in ("race/classic", "race/classic:v2")]
        assert [[row.played for row in board] for board in boards] == [[2, 2], [2, 2]]
        assert {"race/classic", "race/classic:v2"} <= set(list_pools(reader))
        assert list(strengths(reader)) == ["race/classic"], "by game and preset, of the version that is played"
    shown = call("arena", "leaderboard", "--data", "data").out
    assert "race/classic, by score" in shown
    assert "race/classic:v2, by score" in shown
    assert pool_title("race/classic:v2:people") == "Race, classic, version 2, people"
    verified = call("arena", "replay", "verify", "--data", "data")
    assert (verified.code, verified.err) == (0, "")
    assert re.search(r"^2 records: verified, by other rules \(version 2, digest \w+\) than it was made ", verified.out)
    assert verified.out.endswith("\n4 records verified\n")
    checked = call("arena", "db", "check", "--data", "data")
    missing = "this arena does not have the rules of race in version 1"
    assert checked.code == 0, checked.out
    assert f"{missing}: the ratings in race/classic were not computed again\n" in checked.out
    rebuilt = call("arena", "db", "rebuild-ratings", "--data", "data")
    assert f"{missing}: the ratings in race/classic were not computed again\n" in rebuilt.out
    with closing(Reader.open(Path("data/arena.db"))) as reader:
        assert [reader.read(leaderboard_of, pool) for pool in ("race/classic", "race/classic:v2")] == boards
        first = [result.match for result in reader.iterate(iter_results)][-1]
    annulled = call("arena", "match", "annul", first, "--data", "data")
    assert annulled.err == f"arena: {missing}, so its ratings cannot be computed again\n"


@pytest.mark.usefixtures("first_version")
def test_rules_that_changed_under_one_version_are_refused_until_a_version_or_a_season() -> None:
    with closing(Reader.open(Path("data/arena.db"))) as reader:
        reader.read(check_rules, ["race"])  # the same rules
        load("1", "changed")
        refusal = (
            r"race: its rules \(version 1, digest \w{12}\) are others than those of its rated matches "
            r"\(version 1, digest \w{12}\): write another version, such as version = '2', which gets ratings of its "
            r"own, or begin a season with `arena season start`"
        )
        with pytest.raises(UsageFault, match=refusal):
            reader.read(check_rules, ["race"])
        load("2", "changed")
        reader.read(check_rules, ["race"])
        load("1", "changed again")
        assert call("arena", "season", "start", "spring", "--data", "data").code == 0
        reader.read(check_rules, ["race"])


@pytest.mark.usefixtures("first_version")
def test_pages_show_matches_whose_config_other_rules_refuse() -> None:
    assert RACE is not None
    fixed = RACE[1].replace("last = integer(21, minimum=5, maximum=100)", 'last = 21\n    version = "2"')
    load("2", source=fixed.replace(", integer", ""))
    with closing(Reader.open(Path("data/arena.db"))) as reader, served(Site(reader)) as url:
        (result, *_) = reader.iterate(iter_results)
        for path in (
            "/",
            "/matches",
            f"/matches/{result.match}",
            "/tournaments",
            f"/tournaments/{result.tournament}",
            "/leaderboard/race/classic",
            "/leaderboard/race",
            "/bots/greedy",
            "/bots/greedy?pool=race/classic",
            "/rules/race",
            "/play",
            f"/api/v1/matches/{result.match}",
            f"/api/v1/matches/{result.match}/match.html",
            "/api/v1/leaderboard/race/classic",
            "/api/v1/pools?game=race",
            "/api/v1/tournaments",
        ):
            page = answer(url + path)
            assert page.status == 200, (path, page.text)
        document = msgspec.json.decode(answer(f"{url}/api/v1/matches/{result.match}").body)
    assert document["fault"].startswith(f"{result.match}: the header: race has no config key 'last'")
    assert "; it was refereed by other rules (version 2, digest " in document["fault"]
    assert all(ply["state"]["ply"] == ply["event"]["ply"] + 1 for ply in document["plies"])
    shown = call("arena", "replay", "show", result.match, "--data", "data")
    assert shown.code == 0, shown.err
    assert "other rules of race than the match was made with: it is shown as recorded\n" in shown.out
    assert re.search(r"^number: 21$", shown.out, re.MULTILINE)
    exported = call("arena", "replay", "export", result.match, "--to", "match.json", "--data", "data")
    assert exported.code == 0, exported.err


@pytest.mark.usefixtures("first_version")
def test_without_its_record_a_match_refuses_nothing() -> None:
    load("1", "changed")
    with closing(Store.open("data/arena.db", create=False)) as store:
        with pytest.raises(UsageFault, match="race: its rules"):
            store.read(check_rules, ["nim", "race"])
        with store._engine.begin() as connection:
            connection.exec_driver_sql("DELETE FROM records")
            connection.exec_driver_sql("UPDATE matches SET record_bytes = NULL")
        store.read(check_rules, ["nim", "race"])


@pytest.mark.usefixtures("first_version")
def test_a_match_that_other_rules_do_not_give_is_checked_by_its_states() -> None:
    assert RACE is not None
    load(
        "2", source=RACE[1].replace("(1, 2, 3)", "(1, 2)").replace('name = "race"', 'name = "race"\n    version = "2"')
    )
    verified = call("arena", "replay", "verify", "--data", "data")
    assert verified.code == 1
    assert re.search(r"is not a legal move now.*; it was refereed by other rules \(version 2, digest", verified.err)
    checked = call("arena", "db", "check", "--data", "data")
    assert checked.code == 0, checked.out
    assert re.search(
        r"2 matches could not be refereed, and only their digests, draws and turns agree: \S+: ply \d+: ", checked.out
    )
    with closing(Store.open("data/arena.db", create=False)) as store:
        (pool,) = store.read(rated_pools)
    assert pool == "race/classic"
