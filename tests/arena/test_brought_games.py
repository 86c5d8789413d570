"""A game that was added to a database is known to all programs that open it, also when its file is gone."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from arena.commands.serve import check_references
from arena.commands.settings import ServerSettings
from arena.lobby.seek_checks import rules_of
from arena.store.actions import actions_page
from arena.store.data_folder import private_umask
from arena.store.games import (
    add_games,
    find_problems,
    list_games,
    match_counts,
    read_games,
    remove_game,
)
from arena.store.store import Reader, Store
from commands import Done, call
from databases import EVERY_DATABASE, SQLITE_ALONE, alter
from example_games import write_race
from machine import game_files
from machine.game_discovery import GAME_FILES_VARIABLE, add_game_file, brought_games, file_of_game, find_specs
from machine.game_files import GameFiles, use_copy
from protocol.errors import UnknownGame, UsageFault
from protocol.games import (
    game_document,
    game_names,
    game_spec,
    is_known_game,
    load_game,
    offered_game_names,
    rules_spec,
)
from protocol.messages import Seek
from seasons import finish, result

pytestmark = EVERY_DATABASE


@pytest.fixture(autouse=True)
def forget(no_brought_games: Callable[[], None]) -> Callable[[], None]:
    """Forget the games of files, as another process would not know them."""
    return no_brought_games


@pytest.fixture
def race(tmp_path: Path) -> Path:
    return write_race(tmp_path)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def arena(data: Path, forget: Callable[[], None]) -> Callable[..., Done]:
    """Call a command on a data folder in a process that knows no game of a file."""

    def call_anew(*words: str) -> Done:
        forget()
        return call("arena", *words, "--data", str(data))

    return call_anew


def change(file: Path, *changes: tuple[str, str]) -> None:
    source = file.read_text("utf-8")
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    file.write_text(source)


def keep(data: Path, file: Path, **changes: str) -> None:
    """Store the game of a file, as if its rules were changed so, in a process that forgets it then."""
    add_game_file(file)
    with closing(Store.open(data / "arena.db")) as store:
        store.write(add_games, [(game_spec("race")._replace(**changes), use_copy("race"))])


def play_once(data: Path) -> None:
    """Store a rated match of a stored game."""
    with closing(Store.open(data / "arena.db")) as store:
        finish(store, result("m1", pool="race/classic"))


OTHER_RULES = ("integer(21", "integer(31")


def as_version(version: str) -> tuple[str, str]:
    return 'name = "race"\n', f'name = "race"\n    version = {version}\n'


@pytest.mark.parametrize("name", ["race.txt", "race", "race.pyc"])
def test_a_file_of_another_kind_is_no_game(race: Path, arena: Callable[..., Done], name: str) -> None:
    other = race.rename(race.with_name(name))
    for command in ("add", "check"):
        done = arena("game", command, str(other))
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)


def test_every_command_has_an_added_game_when_its_file_is_gone(
    race: Path, data: Path, arena: Callable[..., Done], forget: Callable[[], None]
) -> None:
    added = arena("game", "add", str(race))
    assert (added.code, added.err) == (0, "")
    assert added.out.startswith("race 1 is stored (")
    source = race.read_bytes()
    race.unlink()
    assert arena("tournament", "random", "greedy", "--game", "race", "--rounds", "2", "--in-process").code == 0
    assert "race/classic, by score" in arena("leaderboard").out
    assert arena("replay", "verify").out == "2 records verified\n"
    assert "every record verifies" in arena("db", "check").out
    assert arena("export", "--to", "exported").code == 0
    forget()
    unrefereed = call("arena", "replay", "verify", "--data", str(data), ARENA_STORED_GAMES="0")
    assert "no move was refereed" in unrefereed.out, "no code of the database ran"
    race.write_bytes(source)
    change(race, OTHER_RULES, as_version('"2"'))
    assert arena("game", "add", str(race)).code == 0
    assert arena("replay", "verify").out == "2 records verified\n", "by the rules that they were made with"


def test_games_are_listed_with_where_they_are_from_in_80_columns(
    race: Path, data: Path, arena: Callable[..., Done]
) -> None:
    assert "race" not in arena("game", "list").out, "without a database, the built-in games are listed"
    arena("game", "add", str(race))
    play_once(data)
    listed = arena("game", "list").out.splitlines()
    assert listed[0].split() == ["game", "title", "version", "digest", "from", "matches"]
    assert listed[1].split() == ["nim", "Nim", "built", "in"]
    digest = GameFiles.read(race).digest[:12]
    assert listed[-1].split() == ["race", "Race", "1", digest, "race.py", "1"]
    assert max(map(len, listed)) <= 80
    assert '"origin": "race.py"' in arena("game", "list", "--json").out
    arena("game", "remove", "race")
    assert arena("game", "list").out.splitlines()[-1].endswith("race.py, removed        1")


def test_the_same_version_with_other_rules_is_refused_and_a_higher_one_is_offered(
    race: Path, data: Path, arena: Callable[..., Done], forget: Callable[[], None]
) -> None:
    arena("game", "add", str(race))
    first = GameFiles.read(race)
    change(race, OTHER_RULES)
    refused = arena("game", "add", str(race))
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        "arena: race.py: the rules of race differ from those of version 1 that are stored: raise version, as in "
        'version = "2"; or `arena game remove race` first: no match was played by it\n'
    )
    played = arena("tournament", "random", "greedy", "--game", str(race), "--in-process")
    assert (played.code, played.err) == (2, refused.err), "a tournament keeps no other rules either"
    change(race, as_version('"2.1"'))
    assert arena("game", "add", str(race)).code == 0
    forget()
    with closing(Reader.open(data / "arena.db")) as reader:
        assert (game_spec("race").version, load_game("race").config["last"]) == ("2.1", 31)
        assert [one.version for one in reader.read(list_games)] == ["2.1"]
        assert rules_spec("race", first.digest).version == "1", "records of the first version are read by its rules"
        assert load_game("race", {"preset": "classic"}, first.digest).config["last"] == 21
        assert rules_spec("race", "0" * 64).version == "2.1"
        assert reader.read(lambda connection: list(find_problems(connection))) == []
        assert reader.read(match_counts) == {}
    race.write_bytes(first.source)
    lower = arena("game", "add", str(race))
    assert lower.err == (
        'arena: race.py: race has version 1, but version 2.1 is stored: raise version above it, as in version = "2.2"\n'
    )


@SQLITE_ALONE
@pytest.mark.parametrize(
    ("before", "after", "following"),
    [
        ("1", "2", "2"),
        ("9", "10", "10"),
        ("2.9", "2.10", "2.10"),
        ("1.1", "2", "1.2"),
        ("1", "1.1", "2"),
        ("a", "b", "a2"),
    ],
)
def test_versions_are_compared_by_their_numbers(
    data: Path, race: Path, before: str, after: str, following: str
) -> None:
    add_game_file(race)
    first, files = game_spec("race")._replace(version=before), use_copy("race")
    with closing(Store.open(data / "arena.db")) as store:
        store.write(add_games, [(first, files)])
        with pytest.raises(UsageFault, match=f'raise version, as in version = "{re.escape(following)}"; or `arena'):
            store.write(add_games, [(first._replace(digest="0" * 64), files)])
        store.write(add_games, [(first._replace(version=after), files)])
        with pytest.raises(
            UsageFault, match=f"race has version {re.escape(before)}, but version {re.escape(after)} is"
        ):
            store.write(add_games, [(first, files)])


@SQLITE_ALONE
def test_the_name_of_a_built_in_game_and_a_file_without_a_game_are_refused(
    race: Path, data: Path, arena: Callable[..., Done]
) -> None:
    change(race, ('name = "race"', 'name = "nim"'))
    taken = arena("game", "add", str(race))
    assert (taken.code, taken.err) == (2, "arena: race.py: the name nim is taken by another game: choose another\n")
    race.write_text("")
    assert arena("game", "add", str(race)).err.startswith("arena: race.py has no game: write a class ")
    assert not data.exists(), "nothing is made for a file that is refused"


@SQLITE_ALONE
def test_a_game_that_breaks_the_contract_is_not_stored(race: Path, data: Path, arena: Callable[..., Done]) -> None:
    lines = race.read_text().splitlines()
    number = next(number for number, line in enumerate(lines, 1) if "def winner(" in line)
    race.write_text("\n".join((*lines[:number], "        return 7", *lines[number:])))
    refused = arena("game", "add", str(race))
    assert refused == (2, "", f"arena: race.py, line {number}: the winner is 7: it is a seat from 0 to 1, or None\n")
    assert not data.exists()


@SQLITE_ALONE
@pytest.mark.parametrize(
    ("method", "returned", "told"),
    [
        ("cells(self, move)", "[(0, 0)] * 3", "cells returns 3 cells for 1: at most 2, "),
        ("highlights(self, state)", "[(0, 1)]", "highlights returns (0, 1): it is (row, column) of a cell of the grid"),
        ("seat_of_mark(self, mark)", "2", "seat_of_mark returns 2 for 'x': it is a seat from 0 to 1, or None"),
    ],
)
def test_what_pages_could_not_draw_or_nobody_could_press_is_refused(
    race: Path, arena: Callable[..., Done], method: str, returned: str, told: str
) -> None:
    grid = '    def grid(self, state):\n        return [["x"]]\n\n'
    change(race, ("    def winner(", f"{grid}    def {method}:\n        return {returned}\n\n    def winner("))
    number = next(number for number, line in enumerate(race.read_text().splitlines(), 1) if f"def {method}" in line)
    refused = arena("game", "add", str(race))
    assert refused.err.startswith(f"arena: race.py, line {number}: {told}")


@SQLITE_ALONE
def test_rules_that_end_their_program_are_named_with_their_line(race: Path, arena: Callable[..., Done]) -> None:
    source = race.read_text().splitlines()
    number = next(number for number, line in enumerate(source, 1) if "def play(" in line)
    race.write_text("\n".join((*source[:number], "        raise SystemExit(3)", *source[number:])))
    assert arena("game", "add", str(race)) == (2, "", f"arena: race.py, line {number + 1}: SystemExit: 3\n")
    race.write_text("\n".join(("raise SystemExit(3)", *source)))
    assert arena("game", "add", str(race)) == (2, "", "arena: race.py, line 1: SystemExit: 3\n")


@SQLITE_ALONE
def test_a_tournament_in_process_names_the_log_that_says_why_matches_are_void(
    race: Path, data: Path, arena: Callable[..., Done]
) -> None:
    change(race, ("return RaceState(state.", "return 1 / (state.number != 7) and RaceState(state."))
    words = ("--game", str(race), "--rounds", "4", "--seed", "1", "--in-process")
    played = arena("tournament", "random", "r2=random", *words)
    assert " of 3 random matches would be void; `arena game check race.py` tries more\n" in played.err
    log = Path(played.out.rpartition("why matches are void: ")[2].strip())
    assert " is void: the rules of race failed: race.py, line " in log.read_text()


def test_a_removed_game_begins_no_match_and_stays_readable(
    race: Path, data: Path, arena: Callable[..., Done], forget: Callable[[], None]
) -> None:
    arena("game", "add", str(race))
    play_once(data)
    removed = arena("game", "remove", "race")
    assert removed.out.startswith("race is removed: no new matches begin, from the next start of a running server on;")
    refused = arena("tournament", "random", "greedy", "--game", "race", "--in-process")
    assert (refused.code, refused.err) == (2, "arena: race was removed by the operator: no new matches begin\n")
    assert "race" not in offered_game_names()
    assert "race" in game_names()
    with pytest.raises(UnknownGame, match="race was removed by the operator: no new matches begin"):
        rules_of("ann", Seek(id="s", game="race", config={}))
    with pytest.raises(UnknownGame, match="race was removed by the operator"):
        rules_of("ann", Seek(id="s", game="race", open=True))
    assert "race/classic, by score" in arena("leaderboard").out
    assert arena("game", "remove", "race").err == "arena: race is removed already\n"
    assert arena("game", "add", str(race)).code == 0, "adding it again offers it again"
    forget()
    Reader.open(data / "arena.db").close()
    assert "race" in offered_game_names()


def test_a_removed_version_that_nobody_played_comes_back_with_other_rules(
    race: Path, data: Path, arena: Callable[..., Done], forget: Callable[[], None]
) -> None:
    arena("game", "add", str(race))
    arena("game", "remove", "race")
    change(race, OTHER_RULES)
    assert arena("game", "add", str(race)).code == 0
    forget()
    Reader.open(data / "arena.db").close()
    assert (load_game("race").config["last"], "race" in offered_game_names()) == (31, True)
    play_once(data)
    arena("game", "remove", "race")
    change(race, ("integer(31", "integer(41"))
    assert arena("game", "add", str(race)).err.endswith("ratings of different versions are separate\n")
    forget()
    listed = call("arena", "game", "list", "--json", "--data", str(data), ARENA_STORED_GAMES="0")
    assert '"title": "not loaded, by ARENA_STORED_GAMES=0"' in listed.out


def test_only_games_that_were_added_can_be_removed(race: Path, data: Path, arena: Callable[..., Done]) -> None:
    Store.open(data / "arena.db").close()
    none = arena("game", "remove", "race")
    assert none.err == "arena: no game 'race' was added: there is none; `arena game add FILE.py` adds one\n"
    arena("game", "add", str(race))
    assert arena("game", "remove", "rice").err == "arena: no game 'rice' was added: one of race\n"
    nim = arena("game", "remove", "nim")
    assert nim.err == "arena: nim is a built-in game: only games that were added can be removed\n"


def test_an_unknown_game_is_refused_with_how_one_is_brought(arena: Callable[..., Done]) -> None:
    unknown = arena("tournament", "random", "greedy", "--game", "race")
    assert unknown.code == 2
    assert unknown.err.startswith("arena: there is no game 'race': one of nim, ")
    assert unknown.err.endswith("; `arena game add FILE.py` and --game FILE.py bring a game of your own\n")


@SQLITE_ALONE
def test_a_game_of_the_server_that_a_tournament_names_is_known(
    race: Path, data: Path, tmp_path: Path, arena: Callable[..., Done], forget: Callable[[], None]
) -> None:
    arena("game", "add", str(race))
    forget()
    words = ("random", "greedy", "--game", "race", "--data", str(tmp_path / "own"))
    asked = call("arena", "tournament", *words, "--server", str(data))
    assert asked.err.startswith(f"arena: no server runs on {data}"), asked.err
    assert brought_games() == ["race"]


def test_the_audit_log_has_who_added_and_removed_a_game(race: Path, data: Path, arena: Callable[..., Done]) -> None:
    arena("game", "add", str(race))
    arena("game", "remove", "race")
    with closing(Reader.open(data / "arena.db")) as reader:
        entries = reader.read(actions_page).rows
    assert [(entry.do, entry.concerns) for entry in entries] == [("remove_game", ["race"]), ("add_game", ["race"])]


def test_files_beside_a_game_are_kept_and_replaced_without_a_new_version(
    race: Path, data: Path, arena: Callable[..., Done], forget: Callable[[], None]
) -> None:
    for suffix in (".md", ".js", ".css", ".txt", ".png"):
        race.with_suffix(suffix).write_text(f"first {suffix}")
    arena("game", "add", str(race))
    race.with_suffix(".md").write_text("second")
    arena("game", "add", str(race))
    forget()
    with closing(Reader.open(data / "arena.db")) as reader:
        (kept,) = reader.read(read_games)
        assert set(kept.source.beside) == {"race.md", "race.js", "race.css", "race.txt"}
        assert game_document("race", "rules_document") == "second"
        assert (game_spec("race").board, game_spec("race").styles) == ("race.js", ("race.css",))


@SQLITE_ALONE
def test_a_stored_game_that_cannot_be_loaded_costs_only_itself(
    race: Path, data: Path, forget: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    keep(data, race)
    digest = hashlib.sha256(b"1 / 0").hexdigest()
    alter(data / "arena.db", f"UPDATE games SET source = CAST('1 / 0' AS BLOB), digest = '{digest}'")
    forget()
    Reader.open(data / "arena.db").close()
    assert not is_known_game("race")
    assert caplog.messages == [
        "the stored game race can't be loaded: race.py, line 1: ZeroDivisionError: division by zero"
    ]


@SQLITE_ALONE
def test_a_stored_game_that_is_damaged_is_not_run(
    race: Path, data: Path, forget: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    keep(data, race)
    alter(data / "arena.db", "UPDATE games SET source = CAST('1 / 0' AS BLOB)")
    forget()
    with closing(Reader.open(data / "arena.db")) as reader:
        assert not is_known_game("race")
        assert caplog.messages == ["the stored game race is damaged, and is not loaded: restore a backup"]
        digest = reader.read(list_games)[0].digest
        assert list(reader.read(lambda connection: list(find_problems(connection)))) == [
            f"game race, version 1: the source does not have the digest {digest[:12]}"
        ]


@SQLITE_ALONE
def test_a_game_is_run_from_a_copy_which_its_author_cannot_change(
    race: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    add_game_file(race)
    use_copy("race")
    copy = file_of_game("race")
    assert copy.is_relative_to(tmp_path / "cache" / "bot-arena" / "games")
    assert os.environ[GAME_FILES_VARIABLE] == str(copy), "programs that are started later run the same copy"
    copy.write_text("damaged")
    assert GameFiles.read(race).write_copy() == copy
    assert copy.read_bytes() == race.read_bytes()
    assert [path.name for path in copy.parent.iterdir() if path.suffix == ".part"] == []


@SQLITE_ALONE
def test_copies_of_root_are_where_the_users_of_a_sandbox_can_read_them(
    race: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(game_files, "ROOT_CACHE_FOLDER", tmp_path / "cache")
    with private_umask():
        copy = GameFiles.read(race).write_copy()
    assert copy.parent.parent == tmp_path / "cache" / "games"
    assert [folder.stat().st_mode & 0o777 for folder in list(copy.parents)[:3]] == [0o755] * 3
    assert copy.stat().st_mode & 0o777 == 0o644


@SQLITE_ALONE
def test_copies_are_in_a_temporary_folder_where_the_cache_cannot_be_written(
    race: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    copy = GameFiles.read(race).write_copy()
    folder = game_files._temporary_folder()
    assert copy.parent.parent == folder
    game_files._remove_folder(folder, os.getpid() + 1)
    assert copy.exists(), "a process that was forked leaves it"
    game_files._remove_folder(folder, os.getpid())
    assert not folder.exists()
    game_files._temporary_folder.cache_clear()


@SQLITE_ALONE
def test_all_games_of_a_file_are_stored_and_known_to_programs_that_are_started_later(
    race: Path, data: Path, arena: Callable[..., Done], forget: Callable[[], None]
) -> None:
    second = "\n\nclass Long(Race):\n    name = 'long'\n    last = integer(50, minimum=5, maximum=99)\n"
    race.write_text(race.read_text("utf-8") + second)
    race.with_suffix(".md").write_text("first")
    played = arena("tournament", "random", "greedy", "--game", f"{race}:long", "--in-process", "--seed", "1")
    assert played.code == 0, played.err
    again = arena("tournament", "random", "greedy", "--game", "long", "--in-process", "--seed", "1")
    assert (again.code, brought_games()) == (0, ["long"]), "the game that was played is stored alone"
    assert arena("game", "add", str(race)).out.count(" is stored ") == 2
    race.with_suffix(".md").write_text("second")
    played = arena("tournament", "random", "greedy", "--game", f"{race}:long", "--in-process", "--seed", "1")
    assert played.code == 0, played.err
    forget()
    Reader.open(data / "arena.db").close()
    assert (brought_games(), load_game("long").config["last"]) == (["long", "race"], 50)
    assert [game_document(game, "rules_document") for game in ("race", "long")] == ["first", "second"]
    assert sorted(spec.name for spec in find_specs()) == ["long", "race"]


@SQLITE_ALONE
def test_a_file_that_is_too_large_is_refused(race: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(game_files, "MAX_FILE_BYTES", 100)
    with pytest.raises(UsageFault, match=r"race.py has \d+ bytes: a game's file has at most 100"):
        GameFiles.read(race)


def test_a_stored_game_with_the_name_of_a_built_in_one_is_not_loaded(
    race: Path, data: Path, forget: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    keep(data, race, name="nim")
    forget()
    Reader.open(data / "arena.db").close()
    assert caplog.messages == [
        "the stored game nim can't be loaded: the name nim is that of a built-in game, or of an installed package"
    ]
    assert brought_games() == []


def test_rules_that_are_named_come_before_those_that_are_stored(
    race: Path, data: Path, forget: Callable[[], None]
) -> None:
    keep(data, race)
    with closing(Store.open(data / "arena.db")) as store:
        store.write(remove_game, "race")
    forget()
    change(race, as_version('"2"'))
    add_game_file(race)
    Reader.open(data / "arena.db").close()
    assert (game_spec("race").version, game_spec("race").offered) == ("2", True)


def test_a_server_checks_before_a_restart_whether_its_games_can_be_stored(
    race: Path, data: Path, arena: Callable[..., Done], forget: Callable[[], None]
) -> None:
    settings = ServerSettings(data=str(data), games=str(race))
    check_references(settings)
    arena("game", "add", str(race))
    change(race, OTHER_RULES)
    forget()
    with pytest.raises(UsageFault, match="the rules of race differ from those of version 1 that are stored"):
        check_references(settings)
