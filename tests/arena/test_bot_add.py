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
from arena.store.store import Store
from arena.store.tokens import hash_token
from commands import Done, call

Add = Callable[..., Done]


@pytest.fixture
def add(tmp_path: Path) -> Add:
    """`arena bot add` over a data folder; what is said is about files of `tmp_path`."""

    def run(*words: str) -> Done:
        done = call("arena", "bot", "add", *words, "--data", str(tmp_path / "data"))
        return done._replace(out=done.out.replace(f"{tmp_path}/", ""), err=done.err.replace(f"{tmp_path}/", ""))

    return run


def from_file(tmp_path: Path, text: str | bytes) -> list[str]:
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
    assert done.err == "arena: each bot uses its token as ARENA_TOKEN or --token; they are not shown again\n"
    done = add("cid", "ANNA", "cid", "x y")
    assert (done.code, done.out) == (2, "")
    assert [line.partition(":")[0] for line in done.err.splitlines()] == [
        "arena",
        "cid is there twice",
        "'x y' is not a name for a bot",
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
        (
            "bot,group\nanna,A\n",
            ["line 1: the column name is missing, the columns are 'bot', 'group': the first line names "],
        ),
        ("", ["line 1: the column name is missing, the file is empty: the first line names the columns"]),
        ("name,token\nanna,x\n", ["line 1: there is a column token already, and tokens are made here: leave it out"]),
        ("name,name\na,b\n", ["line 1: the column 'name' is there 2 times"]),
        ("name\n", [" has no names below its first line"]),
        (
            "name,group\nanna,A\nANNA,B\nold,A\nx y,B\n",
            [
                "line 3: ANNA is there twice, first in line 2",
                "line 4: a bot is called old already: choose another name, or `arena bot rotate old`",
                "line 5: 'x y' is not a name for a bot: ",
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
        (["--from", "names.csv"], "--from needs --tokens-to FILE, the file for the tokens, which are shown only once"),
        (["--from", "/none/names.csv", "--tokens-to", "t"], "/none/names.csv can't be read: No such file or directory"),
        (["anna", "--tokens-to", "/"], "/ already exists and is not overwritten: choose another name"),
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

    def fails(connection: Connection, hashes: Any, displays: Any) -> None:
        there.append((tmp_path / "tokens.csv").stat().st_size > 0)
        raise fault

    monkeypatch.setattr("arena.store.registry.add_bots", fails)
    done = add(*from_file(tmp_path, "name\nanna\nben\n"))
    assert (done.code != 0, done.err) == (True, f"arena: {fault}\n")
    assert there == [True]
    assert not list(tmp_path.glob("tokens.csv*"))


def test_of_names_one_of_which_is_taken_meanwhile_none_is_registered(store: Store) -> None:
    store.write(add_bots, {"ben": "b" * 64})
    with pytest.raises(NameInUse, match="a bot is called BEN already"):
        store.write(add_bots, {"anna": "a" * 64, "BEN": "c" * 64})
    assert [bot.name for bot in store.read(all_bots)] == ["ben"]


def shown_names(tmp_path: Path) -> dict[str, str | None]:
    with closing(Store.open(tmp_path / "data" / "arena.db")) as store:
        return {bot.name: bot.display for bot in store.read(all_bots)}


def test_a_list_of_peoples_names_is_refused_with_a_proposal_for_each(add: Add, tmp_path: Path) -> None:
    done = add(*from_file(tmp_path, "name,group\nChloé,1\nO'Brien,2\nWang Wei,1\nchloe,2\n王伟,1\nChloë,2\n"))
    assert done.code == 2
    told = [line.partition("; ")[2] for line in done.err.splitlines()]
    assert told == [
        "try Chloe-2",
        "try OBrien",
        "try Wang-Wei",
        "",
        "try Chloe-3",
    ]
    assert registered(tmp_path) == {}


def test_with_ascii_names_people_get_the_nearest_names_and_keep_theirs_as_display_names(
    add: Add, tmp_path: Path
) -> None:
    text = "Name;group\nChloé;1\nO'Brien;2\nWang Wei;1\nchloe;2\nChloë;2\n"
    done = add(*from_file(tmp_path, text), "--ascii-names")
    assert (done.code, done.err) == (0, "")
    expected = {
        "Chloe-2": "Chloé",
        "OBrien": "O'Brien",
        "Wang-Wei": "Wang Wei",
        "chloe": None,
        "Chloe-3": "Chloë",
    }
    assert shown_names(tmp_path) == expected
    with (tmp_path / "tokens.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    assert list(rows[0]) == ["Name", "group", "display", "token"]
    assert {row["Name"]: row["display"] or None for row in rows} == expected
    assert {row["Name"]: hash_token(row["token"]) for row in rows} == registered(tmp_path)


def test_a_list_may_have_display_names_and_one_that_is_none_is_refused_with_its_line(add: Add, tmp_path: Path) -> None:
    done = add(*from_file(tmp_path, "name,Display\nanna,Anna Å.\nben,\ncid,x\u202ey\ndan,...\n"))
    assert done.code == 2
    assert [line.partition(" is not a display name")[0] for line in done.err.splitlines()] == [
        "arena: names.csv, line 4: 'x\\u202ey'",
        "names.csv, line 5: '...'",
    ]
    assert add(*from_file(tmp_path, "name,Display\nanna,  Anna   A\u030a. \nben,\n")).code == 0
    assert shown_names(tmp_path) == {"anna": "Anna Å.", "ben": None}


def test_a_display_name_goes_with_one_name_and_can_be_changed_and_taken_away(add: Add, tmp_path: Path) -> None:
    assert add("chloe", "--display", "Chloé").code == 0
    assert add("x", "y", "--display", "Chloé").code == 2
    assert add(*from_file(tmp_path, "name\nanna\n"), "--display", "Anna").code == 2
    data = str(tmp_path / "data")
    assert shown_names(tmp_path) == {"chloe": "Chloé"}
    done = call("arena", "bot", "display", "CHLOE", "Chloé  Dupont", "--data", data)
    assert (done.code, done.out) == (0, "CHLOE is shown as Chloé Dupont too, from its next connection on\n")
    listed = call("arena", "bot", "list", "--data", data).out
    assert "chloe (Chloé Dupont)" in listed
    for words in (("chloe",), ("chloe", "Chloé", "--off"), ("chloe", "\u202e"), ("nobody", "Nobody")):
        assert call("arena", "bot", "display", *words, "--data", data).code == 2, words
    assert add("cid").code == 0
    done = call("arena", "bot", "display", "cid", "chloé dupont", "--data", data)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert done.err.startswith("arena: chloe is shown as chloé dupont already: ")
    assert call("arena", "bot", "display", "chloe", "CHLOÉ DUPONT", "--data", data).code == 0
    assert shown_names(tmp_path) == {"chloe": "CHLOÉ DUPONT", "cid": None}
    assert call("arena", "bot", "display", "chloe", "--off", "--data", data).code == 0
    assert shown_names(tmp_path) == {"chloe": None, "cid": None}


@pytest.mark.parametrize(
    "words",
    [
        ["--ascii-names", "Chloé Dubois"],
        ["--ascii-names", "chloe\u0301  dubois"],
        ["Chloé Dubois"],
        ["cd", "--display", "CHLOÉ DUBOIS"],
    ],
)
def test_a_display_name_that_a_registered_bot_has_is_refused_with_what_would_be_right(
    add: Add, tmp_path: Path, words: list[str]
) -> None:
    assert add("Chloe-Dubois", "--display", "Chloé Dubois").code == 0
    done = add(*words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.lower().startswith("arena: chloe-dubois is shown as chloé dubois already: for the same person")
    assert "`arena bot rotate Chloe-Dubois` makes a new token" in done.err
    assert done.err.lower().endswith("like chloé dubois (2)\n")
    assert shown_names(tmp_path) == {"Chloe-Dubois": "Chloé Dubois"}


def test_of_a_list_each_line_with_a_display_name_that_is_taken_is_named(add: Add, tmp_path: Path) -> None:
    assert add("Chloe-Dubois", "--display", "Chloé Dubois").code == 0
    done = add(*from_file(tmp_path, "name,display\nben,\nChloé Dubois,\ncid,chloé dubois\n"), "--ascii-names")
    assert done.code == 2
    assert [line.partition(" already")[0] for line in done.err.splitlines()] == [
        "arena: names.csv, line 3: Chloe-Dubois is shown as Chloé Dubois",
        "names.csv, line 4: Chloe-Dubois is shown as chloé dubois",
    ]
    assert not (tmp_path / "tokens.csv").exists()


def test_two_people_of_one_name_in_a_list_get_names_of_their_own_and_the_operator_is_told(
    add: Add, tmp_path: Path
) -> None:
    text = "name\nChloé Dubois\nben\nChloé Dubois\n"
    refused = add(*from_file(tmp_path, text)).err.splitlines()
    assert [line.rpartition("; ")[2] for line in refused] == ["try Chloe-Dubois", "line 2 is called so too"]
    assert "try Chloe-Dubois-2" in refused[1]
    done = add(*from_file(tmp_path, text), "--ascii-names")
    assert (done.code, done.err) == (
        0,
        "arena: names.csv, line 4: Chloe-Dubois-2 is shown as Chloé Dubois, as Chloe-Dubois is: give one another "
        "display name\n",
    )
    assert shown_names(tmp_path) == {"Chloe-Dubois": "Chloé Dubois", "Chloe-Dubois-2": "Chloé Dubois", "ben": None}
