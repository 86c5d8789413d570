"""`arena publish` and `arena bot sources`: a result that needs no server, and the programs as one archive."""

from __future__ import annotations

import csv
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import json

from arena.store.entrants import find_entrants, freeze_entrants
from arena.store.registry import anonymize_bot, set_display
from arena.store.store import Store
from arena.store.tournament_state import finish_tournament, open_tournament
from commands import call
from hosted_bots import hand_in, register
from seasons import ROUND_ROBIN, finish, result

ARGUMENTS = {
    **ROUND_ROBIN,
    "bots": ["ann", "bob", "cid"],
    "hosted": {"ann": {"version": 3, "digest": "a3"}, "bob": {"version": 1, "digest": "b1", "late": True}},
    "as_of": "2026-11-29T12:00:00.000Z",
    "title": "Cup of <b>bots</b>",
    "rated": False,
}


@pytest.fixture
def tournament(tmp_path: Path) -> str:
    """A finished tournament in the database of a folder; its id."""
    register(tmp_path, "ann", "bob")
    with closing(Store.open(tmp_path / "arena.db")) as store:
        name = store.write(open_tournament, json.encode(ARGUMENTS, order="sorted").decode(), "7")[0]
        finish(
            store,
            result("m1", ("ann", "bob"), tournament=name, place=0),
            result("m2", ("ann", "cid"), tournament=name, place=1),
            result("m3", ("bob", "cid"), (1, 1), reason="draw", tournament=name, place=2),
        )
        store.write(finish_tournament, name)
    return name


def test_the_page_stands_alone_and_has_table_cross_table_and_matches(tmp_path: Path, tournament: str) -> None:
    folder = tmp_path / "result"
    done = call("arena", "publish", tournament, "--to", str(folder), "--data", str(tmp_path))
    assert done == (0, f"{folder}: index.html and results.csv of {tournament}, 3 matches\n", "")
    page = (folder / "index.html").read_text()
    assert "Cup of &lt;b&gt;bots&lt;/b&gt;" in page
    assert "<b>ann</b> won." in page
    assert "between rank 1 and 3" in page
    assert '<td class="number">1, late</td>' in page
    assert "Who against whom" in page
    assert page.index(">m1<") < page.index(">m3<")
    for outside in ("<script", "src=", "<link", '<a href="/', "http://", "https://"):
        assert outside not in page, "it loads nothing, and needs no server"


def test_the_table_is_joined_with_the_file_of_names(tmp_path: Path, tournament: str) -> None:
    names = tmp_path / "names.csv"
    names.write_text(
        "Name;display;group;=mail\nBOB;Bób;1;=bob@example.org\nzoe;;2;\nbob;;1;other@example.org\nänne ó;;3;\n"
    )
    with closing(Store.open(tmp_path / "arena.db")) as store:
        store.write(set_display, "ann", "Änne Ó")
        deleted = store.write(anonymize_bot, "cid")
    words = ["--to", str(tmp_path / "result"), "--names", str(names), "--data", str(tmp_path)]
    done = call("arena", "publish", tournament, *words)
    assert done.code == 0
    assert done.out.splitlines()[1:] == [
        f"{names} does not find {deleted}: a bot that was deleted since has its result under this name"
    ]
    with (tmp_path / "result" / "results.csv").open(newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file, delimiter=";")}
    assert list(rows) == ["BOB", "zoe", "bob", "änne ó", deleted], "one who was registered with --ascii-names is found"
    assert rows["bob"]["place"] == rows["BOB"]["place"], "two people may have one bot"
    assert [rows["BOB"][column] for column in ("display", "group", "version", "late")] == ["Bób", "1", "1", "late"]
    assert rows["BOB"]["'=mail"] == "'=bob@example.org", "a spreadsheet computes nothing"
    assert [rows["änne ó"][column] for column in ("place", "score", "won", "forfeits")] == ["1", "1.0000", "2", "0"]
    assert [rows["zoe"][column] for column in ("place", "score", "played")] == ["", "", ""]
    assert '<bdi class="display">Bób</bdi>' in (tmp_path / "result" / "index.html").read_text()


@pytest.mark.parametrize(
    ("column", "why"), [("Token", "a result is for others to read"), ("score", "the result has one of its own")]
)
def test_a_file_of_names_with_tokens_or_with_a_column_of_the_result_is_refused(
    tmp_path: Path, tournament: str, column: str, why: str
) -> None:
    names = tmp_path / "names.csv"
    names.write_text(f"name,{column}\nann,secret\n")
    words = ["--to", str(tmp_path / "result"), "--names", str(names), "--data", str(tmp_path)]
    done = call("arena", "publish", tournament, *words)
    line = f"{names}, line 1: there is a column {column.lower()} already, and {why}: leave it out"
    assert done == (2, "", f"arena: {line}\n")
    assert not (tmp_path / "result").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["t9", "--to", "new"], "there is no tournament 't9': its id is below its table, and on its page"),
        (["{tournament}", "--to", "new", "--names", "none.csv"], "none.csv can't be read: No such file or directory"),
        (
            ["{tournament}", "--to", "{tmp_path}"],
            "{tmp_path} already exists and is not overwritten: choose another name",
        ),
    ],
)
def test_what_can_not_be_published_is_one_line_and_leaves_nothing(
    tmp_path: Path, tournament: str, words: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    filled = [word.format(tournament=tournament, tmp_path=tmp_path) for word in words]
    done = call("arena", "publish", *filled, "--data", str(tmp_path))
    assert (done.code != 0, done.out, done.err) == (True, "", f"arena: {said.format(tmp_path=tmp_path)}\n")
    assert not (tmp_path / "new").exists()


def test_programs_are_in_one_archive_each_in_a_folder_of_its_bot(tmp_path: Path) -> None:
    register(tmp_path, "ann", "bob")
    hand_in(tmp_path, "ann", "# first")
    hand_in(tmp_path, "bob", "# bob")
    with closing(Store.open(tmp_path / "arena.db")) as store:
        store.write(freeze_entrants, "t1", store.read(find_entrants, "nim").entrants)
    hand_in(tmp_path, "ann", "# second")
    found = {}
    for name, options in (("now", []), ("then", ["--tournament", "t1"])):
        words = ("sources", "--to", str(tmp_path / f"{name}.zip"), *options, "--data", str(tmp_path))
        assert call("arena", "bot", *words).code == 0
        with zipfile.ZipFile(tmp_path / f"{name}.zip") as archive:
            found[name] = {path: archive.read(path).decode() for path in archive.namelist() if path.endswith(".py")}
    assert found == {
        "now": {"ann/ann.py": "# second", "bob/bob.py": "# bob"},
        "then": {"ann/ann.py": "# first", "bob/bob.py": "# bob"},
    }
    with closing(Store.open(tmp_path / "arena.db")) as store:
        damage = "UPDATE bot_versions SET content = substr(content, 1, 40) WHERE bot = 1 AND number = 2"
        store.write(lambda connection: connection.exec_driver_sql(damage))
    done = call("arena", "bot", "sources", "--to", str(tmp_path / "rest.zip"), "--data", str(tmp_path))
    assert done.err == "arena: ann, version 2, is damaged in the database: it is left out\n"
    assert done.out.endswith("rest.zip: 1 program, each in a folder with its bot's name\n")
    kept = (tmp_path / "now.zip").read_bytes()
    done = call("arena", "bot", "sources", "--to", str(tmp_path / "now.zip"), "--data", str(tmp_path))
    assert done.err.endswith("now.zip already exists and is not overwritten: choose another name\n")
    assert (tmp_path / "now.zip").read_bytes() == kept
    done = call(
        "arena", "bot", "sources", "--to", str(tmp_path / "x.zip"), "--tournament", "t9", "--data", str(tmp_path)
    )
    assert done.err == "arena: no hosted bot entered a tournament 't9', or their programs are deleted\n"
