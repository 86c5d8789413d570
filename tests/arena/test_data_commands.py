"""`arena leaderboard`, `matches`, `bot` and `db`, as a person at a terminal meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from arena.commands.data_dir import hold_data_dir
from arena.commands.matches import Selection, matches
from arena.commands.output import format_table
from arena.store.data_folder import DataFolderInUse, lock
from arena.store.registry import all_bots
from arena.store.schema import SCHEMA_REVISIONS
from arena.store.store import Store
from arena.store.tokens import hash_token
from commands import Done, call, on_terminal
from databases import alter, filled_store
from seasons import finish, result

Arena = Callable[..., Done]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def arena(data: Path) -> Arena:
    """Run `arena` with these words on the data folder."""
    return partial(call, "arena", ARENA_DATA=str(data))


@pytest.fixture
def played(data: Path) -> Path:
    """A data folder with twelve rated matches of Nim and an unrated drawn tic-tac-toe."""
    data.mkdir(mode=0o700)
    filled_store(data / "arena.db", play_thirteen).close()
    return data


def play_thirteen(store: Store) -> None:
    finish(store, *(result(f"m{number}", ("ann", "a-name-of-thirty-two-characters-")) for number in range(12)))
    finish(store, result("draw", ranks=(1, 1), pool="tictactoe/classic", rated=False))


def widest(text: str) -> int:
    return max(len(line) for line in text.splitlines())


def test_the_leaderboard_says_what_is_first_in_it(arena: Arena, played: Path) -> None:
    code, out, _ = arena("leaderboard")
    assert code == 0
    assert out.splitlines()[0] == "nim/classic, by score = mu - 3 sigma"
    assert out.splitlines()[2].split()[:2] == ["1", "ann"]
    assert "too few" not in out


def test_bots_with_too_few_matches_are_marked(arena: Arena, played: Path) -> None:
    with closing(Store.open(played / "arena.db")) as store:
        finish(store, result("m", pool="grundy/classic"))
    _, out, _ = arena("leaderboard", "--game", "grundy")
    assert out.splitlines()[2].endswith("*")
    assert out.splitlines()[-1] == "* too few matches to say much"


def test_the_leaderboard_as_json_has_stable_names(arena: Arena, played: Path) -> None:
    code, out, _ = arena("leaderboard", "--json")
    (board,) = json.loads(out)
    assert code == 0
    assert (board["game"], board["pool"]) == ("nim", "nim/classic")
    names = ["bot", "mu", "sigma", "score", "played", "wins", "draws", "losses", "few", "version"]
    assert list(board["rows"][0]) == names
    assert board["rows"][0]["played"] == 12


def test_a_leaderboard_without_matches_says_so(arena: Arena, data: Path) -> None:
    Store.open(data / "arena.db").close()
    assert arena("leaderboard") == (0, "no rated matches yet\n", "")
    assert arena("matches") == (0, "no matches yet\n", "")
    assert arena("bot", "list") == (0, "no bots yet\n", "")
    assert arena("leaderboard", "--json") == (0, "[]\n", "")


def test_matches_are_listed_newest_first_a_line_each(arena: Arena, played: Path) -> None:
    code, out, _ = arena("matches")
    lines = out.splitlines()
    assert (code, len(lines)) == (0, 14)
    assert lines[1].startswith("draw")
    assert "ann = bob" in lines[1]
    assert lines[2].startswith("m11")
    assert " ann > a-name-of-thirty-two-characters-  win " in lines[2]


def test_at_a_terminal_matches_keep_to_its_columns(played: Path) -> None:
    shown = partial(matches, str(played / "arena.db"), Selection(), 2, to_json=False, to_csv=False)
    lines = on_terminal(shown).splitlines()
    assert len(lines) == 4
    assert max(map(len, lines)) <= 80
    assert lines[3].strip() == "a-name-of-thirty-two-characters-"


def test_of_a_match_of_six_everyone_who_played_is_listed(arena: Arena, data: Path) -> None:
    bots = ("wave", "minimax", "a-name-of-thirty-two-characters-", "alphabeta", "greedy", "random")
    with closing(Store.open(data / "arena.db")) as store:
        six = result("ta65bc41f37-00000", bots, (1, 2, 3, 4, 5, 5), pool="risk-campaign/grid", rated=False)
        finish(store, six)
    _, out, _ = arena("matches")
    header, line = out.splitlines()
    assert line.startswith("ta65bc41f37-00000  risk-campaign  wave > minimax")
    names = line[header.index("best first") :].split("  ")[0]
    assert names == "wave > minimax > a-name-of-thirty-two-characters- > alphabeta > greedy = random"


def test_matches_are_chosen_by_bot_game_and_number(arena: Arena, played: Path) -> None:
    assert [found["match"] for found in json.loads(arena("matches", "--bot", "BOB", "--json")[1])] == ["draw"]
    assert len(json.loads(arena("matches", "--game", "nim", "--json")[1])) == 12
    words = arena("matches", "--limit", "3")[1].split()
    assert [match in words for match in ("draw", "m11", "m10", "m9")] == [True, True, True, False]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["leaderboard", "--game", "ches"], "arena: there is no game 'ches': one of nim, "),
        (["matches", "--game", "ches"], "arena: there is no game 'ches': one of nim, "),
        (["matches", "--bot", "eve"], "arena: there is no bot called eve: "),
        (["matches", "--limit", "0"], "arena: --limit is 0: it is 1 or more"),
        (["bot", "rotate", "eve"], "arena: there is no bot called eve: "),
        (["bot", "revoke", "eve"], "arena: there is no bot called eve: "),
        (["bot", "add", "no spaces"], "arena: 'no spaces' is not a name for a bot: "),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arena: Arena, played: Path, words: list[str], complaint: str) -> None:
    code, out, err = arena(*words)
    assert (code, out) == (2, "")
    assert err.startswith(complaint)
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["leaderboard"],
        ["matches"],
        ["bot", "list"],
        ["bot", "rotate", "ann"],
        ["bot", "revoke", "ann"],
        ["db", "check"],
        ["db", "upgrade"],
        ["db", "rebuild-ratings"],
    ],
)
def test_a_missing_database_is_one_line_and_is_not_made(arena: Arena, data: Path, words: list[str]) -> None:
    code, out, err = arena(*words)
    assert (code, out) == (1, "")
    assert err == f"arena: no arena data in {data}/arena.db: start `arena serve` or `arena tournament` first\n"
    assert not data.exists()


def test_a_token_is_printed_once_and_stored_as_a_hash_until_it_is_rotated_or_revoked(arena: Arena, data: Path) -> None:
    told = "ann uses this token as ARENA_TOKEN or --token; it is not shown again\n"
    tokens = []
    for word in ("add", "rotate"):
        code, token, err = arena("bot", word, "ann")
        assert (code, err) == (0, f"arena: {told}")
        with closing(Store.open(data / "arena.db")) as store:
            assert [bot.token_hash for bot in store.read(all_bots)] == [hash_token(token.strip())]
        assert token.strip() not in arena("bot", "list")[1]
        tokens.append(token)
    assert tokens[0] != tokens[1]
    assert [row["token"] for row in json.loads(arena("bot", "list", "--json")[1])] == ["yes"]
    assert arena("bot", "revoke", "ann")[0] == 0
    assert "revoked" in arena("bot", "list")[1]


def test_beside_a_server_bots_are_added_and_ratings_not_rebuilt(arena: Arena, played: Path, tmp_path: Path) -> None:
    url, other = f"sqlite:///{played}/arena.db", tmp_path / "other"
    with lock(played):
        assert arena("bot", "add", "eve")[0] == 0
        for words in ((), ("--db", url, "--data", str(other))):  # the database, named by itself, is the server's
            code, _, err = arena("db", "rebuild-ratings", *words)
            assert code == 1
            assert err.startswith(f"arena: {played} is in use by process {os.getpid()}: ")
        with pytest.raises(DataFolderInUse), hold_data_dir(other, url):
            pass


def test_ratings_that_follow_are_left_by_a_rebuild_and_a_schema_that_is_new_by_an_upgrade(
    arena: Arena, played: Path
) -> None:
    assert arena("db", "rebuild-ratings") == (
        0,
        "ratings recomputed from the results: 0 rows were different\n",
        "",
    )
    assert arena("db", "upgrade") == (0, f"{played}/arena.db has schema {SCHEMA_REVISIONS[-1]}\n", "")


def test_a_database_that_does_not_add_up_is_exit_code_1(arena: Arena, played: Path) -> None:
    alter(played / "arena.db", "DELETE FROM records WHERE match = 1")
    code, out, err = arena("db", "check")
    assert code == 1
    assert out.splitlines()[0] == "match m0 has no record"
    assert out.splitlines()[1].startswith("match m1: the record is not a match record: line 1: ")
    assert err == f"arena: {played}/arena.db has 13 errors\n"


def test_the_data_folder_flag_comes_before_the_environment(arena: Arena, played: Path, tmp_path: Path) -> None:
    assert arena("leaderboard", "--data", str(tmp_path / "empty"))[0] == 1
    assert arena("leaderboard", "--db", f"sqlite:///{played}/arena.db", "--data", str(tmp_path / "empty"))[0] == 0


def test_the_version_is_that_of_the_package_and_help_says_so(arena: Arena) -> None:
    assert arena("--version") == (0, "bot-arena 0.1.0\n", "")
    assert "--version Print the version." in " ".join(arena("--help")[1].split())


def test_an_interrupt_is_exit_code_130(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("arena.commands.leaderboard.leaderboard", interrupted)
    assert arena("leaderboard")[0] == 130


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom arena import cli\nsys.argv = ['arena', '--help']\n"
        "try: cli.main()\nexcept SystemExit: pass\n"
        "heavy = {'sqlalchemy', 'rich', 'websockets', 'networkx', 'trueskill', 'alembic', 'asyncio'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.endswith("[]\n")
    assert "tournament" in shown.stdout


def test_a_table_folds_its_elastic_column_into_its_width() -> None:
    shown = format_table(("a", "b"), [("x" * 100, 7), ("y" * 70 + " " + "z" * 70, 8)], wrapped_column=0, width=80)
    assert widest(shown) == 80
    assert [line.split() for line in shown.splitlines()[1:]] == [
        ["x" * 77, "7"],
        ["x" * 23],
        ["y" * 70, "8"],
        ["z" * 70],
    ]
    assert (
        format_table(("name", "n"), [("ann", 7), ("b", 12)], wrapped_column=0, width=80)
        == "name   n\nann    7\nb     12"
    )
