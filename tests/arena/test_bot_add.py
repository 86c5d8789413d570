"""`arena bot add`: many names at once, from a file too; all of them, with their tokens on disk, or none."""

from __future__ import annotations

import csv
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from arena.store.database import StoreError
from arena.store.registry import NameInUse, add_bots, all_bots
from arena.store.result_queries import standings_of
from arena.store.store import Store
from arena.store.tokens import hash_token
from commands import Done, call
from seasons import finish, result

Add = Callable[..., Done]


@pytest.fixture
def add(tmp_path: Path) -> Add:
    """`arena bot add` over a data folder; what is said is about files of `tmp_path`."""

    def run(*words: str) -> Done:
        done = call("arena", "bot", "add", *words, "--data", str(tmp_path / "data"))
        return done._replace(out=done.out.replace(f"{tmp_path}/", ""), err=done.err.replace(f"{tmp_path}/", ""))

    return run


def from_file(tmp_path: Path, text: str | bytes) -> list[str]:
    """The words for a file of names that has this text."""
    (tmp_path / "names.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return ["--from", str(tmp_path / "names.csv"), "--tokens-to", str(tmp_path / "tokens.csv")]


def registered(tmp_path: Path) -> dict[str, Any]:
    """The bots that are known, with the hashes of their tokens."""
    if not (tmp_path / "data" / "arena.db").exists():
        return {}
    with closing(Store.open(tmp_path / "data" / "arena.db")) as store:
        return {bot.name: bot.token_hash for bot in store.read(all_bots)}


def test_several_names_are_registered_and_their_tokens_printed_as_csv(add: Add, tmp_path: Path) -> None:
    done = add("anna", "ben")
    rows = list(csv.DictReader(done.out.splitlines()))
    assert {row["name"]: hash_token(row["token"]) for row in rows} == registered(tmp_path)
    assert done.err == "arena: each bot brings its token as ARENA_TOKEN or --token; they are not shown again\n"
    done = add("cid", "ANNA", "cid", "x y")
    assert (done.code, done.out) == (2, "")
    assert [line.partition(":")[0] for line in done.err.splitlines()] == [
        "arena",
        "cid is there twice",
        "'x y' is no name for a bot",
    ]
    assert "a bot is called ANNA already" in done.err
    assert list(registered(tmp_path)) == ["anna", "ben"]


@pytest.mark.parametrize("head", [b"group,name,e-mail\n", b"\xef\xbb\xbfgroup;name;e-mail\r\n"])
def test_a_file_of_names_gives_a_file_of_tokens_with_all_that_stood_there(
    add: Add, tmp_path: Path, head: bytes
) -> None:
    between = b";" if b";" in head else b","
    lines = [b'A,anna,"Li, Anna <a@x.org>"'.replace(b",", between, 2), b"", between.join((b"B", b" ben ", b""))]
    done = add(*from_file(tmp_path, head + b"\r\n".join(lines)))
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "2 bots registered; their tokens are in tokens.csv: each bot supplies its own as ARENA_TOKEN or --token\n"
    )
    file = tmp_path / "tokens.csv"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened, delimiter=between.decode()))
    assert {row["name"]: hash_token(row["token"]) for row in rows} == registered(tmp_path)
    assert [(row["group"], row["name"]) for row in rows] == [("A", "anna"), ("B", "ben")]
    assert rows[0]["e-mail"] == "Li, Anna <a@x.org>"


def test_what_a_spreadsheet_would_compute_in_a_file_of_names_is_text_in_that_of_tokens(
    add: Add, tmp_path: Path
) -> None:
    add(*from_file(tmp_path, 'name,note,=head\nanna,=HYPERLINK(1),-1\nben,\'so,"@a,b"\n'))
    with (tmp_path / "tokens.csv").open(newline="") as opened:
        rows = [row[1:3] for row in csv.reader(opened)]
    assert rows == [["note", "'=head"], ["'=HYPERLINK(1)", "-1"], ["''so", "'@a,b"]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("bot,group\nanna,A\n", ["line 1: there is no column name, there are 'bot', 'group': the first line names "]),
        ("", ["line 1: there is no column name, the file is empty: the first line names the columns"]),
        ("name,token\nanna,x\n", ["line 1: there is a column token already, and tokens are made here: leave it out"]),
        ("name,name\na,b\n", ["line 1: the column 'name' is there 2 times"]),
        ("name\n", [" has no names below its first line"]),
        (
            "name,group\nanna,A\nANNA,B\nold,A\nx y,B\n",
            [
                "line 3: ANNA is there twice, first in line 2",
                "line 4: a bot is called old already: choose another name, or `arena bot rotate old`",
                "line 5: 'x y' is no name for a bot: ",
            ],
        ),
        (
            "name,group\nanna\n\nben,B,3\n",
            ["line 2: it has 1 field, the first line 2", "line 4: it has 3 fields, the first line 2"],
        ),
        ('name\n"anna\n', ["line 2: not CSV: unexpected end of data"]),
        (b"name\n\xff\n", [" is not text in UTF-8: save it as CSV UTF-8"]),
    ],
)
def test_what_is_wrong_in_a_file_is_a_line_each_and_nobody_is_registered(
    add: Add, tmp_path: Path, text: str | bytes, says: list[str]
) -> None:
    add("old")
    done = add(*from_file(tmp_path, text))
    assert (done.code, done.out) == (2, "")
    lines = done.err.removeprefix("arena: ").splitlines()
    assert len(lines) == len(says)
    for line, said in zip(lines, says, strict=True):
        assert line.startswith(f"names.csv{said if said.startswith(' ') else f', {said}'}")
    assert list(registered(tmp_path)) == ["old"]
    assert not (tmp_path / "tokens.csv").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "name the bots, or a file of names with --from"),
        (["anna", "--from", "names.csv"], "name the bots, or a file of names with --from"),
        (["--from", "names.csv"], "--from needs --tokens-to FILE: where the tokens go, which are shown once"),
        (["--from", "/none/names.csv", "--tokens-to", "t"], "/none/names.csv can't be read: No such file or directory"),
        (["anna", "--tokens-to", "/"], "/ already exists; not overwritten: choose another name"),
    ],
)
def test_words_that_do_not_go_together_are_refused(add: Add, tmp_path: Path, words: list[str], says: str) -> None:
    done = add(*words)
    assert (done.code, done.err) == (2, f"arena: {says}\n")
    assert registered(tmp_path) == {}


def test_where_tokens_cannot_be_written_nobody_is_registered(add: Add, tmp_path: Path) -> None:
    done = add("anna", "--tokens-to", str(tmp_path / "none" / "tokens.csv"))
    assert (done.code, done.err) == (1, "arena: none/tokens.csv can't be written: No such file or directory\n")
    assert registered(tmp_path) == {}


@pytest.mark.parametrize("fault", [NameInUse("a bot is called ben already"), StoreError("the disk is full")])
def test_where_names_cannot_be_registered_no_tokens_are_left(
    add: Add, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    there: list[bool] = []

    def fails(connection: Connection, hashes: Any) -> None:
        there.append((tmp_path / "tokens.csv").stat().st_size > 0)
        raise fault

    monkeypatch.setattr("arena.store.registry.add_bots", fails)
    done = add(*from_file(tmp_path, "name\nanna\nben\n"))
    assert (done.code != 0, done.err) == (True, f"arena: {fault}\n")
    assert there == [True]
    assert not list(tmp_path.glob("tokens.csv*"))


def test_of_names_one_of_which_is_taken_meanwhile_none_is_registered(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        store.write(add_bots, {"ben": "b" * 64})
        with pytest.raises(NameInUse, match="a bot is called BEN already"):
            store.write(add_bots, {"anna": "a" * 64, "BEN": "c" * 64})
        assert [bot.name for bot in store.read(all_bots)] == ["ben"]


def test_a_name_known_from_tournaments_is_given_away_with_its_ratings(add: Add, tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "data" / "arena.db")) as store:
        finish(store, result("m1", ("anna", "bob")))
        stood = store.read(standings_of, "anna")
    assert add("anna", "ben").code == 0
    with closing(Store.open(tmp_path / "data" / "arena.db")) as store:
        assert store.read(standings_of, "anna") == stood
