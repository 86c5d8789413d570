"""Files that a person writes, in the encodings in which editors save them, and lists of names as spreadsheets do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.commands.name_list import read_entrants, read_name_list
from arena.operator.name_list import is_headed
from arena.operator.new_bots import FORBIDDEN_COLUMNS, NewBots
from commands import call
from machine import input_file
from machine.arguments import read_value
from machine.input_file import read_bytes
from protocol.errors import UsageFault
from timeouts import WITHIN

Written = Callable[[str, str], Path]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"]


@pytest.fixture(params=ENCODINGS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Written:
    """Writes a file as an editor on Windows saves it."""

    def write(name: str, text: str) -> Path:
        mark = "\ufeff" if request.param == "utf-16-be" else ""
        (tmp_path / name).write_bytes((mark + text.replace("\n", "\r\n")).encode(request.param))
        return tmp_path / name

    return write


def test_a_config_file_is_read(written: Written) -> None:
    file = written("arena.toml", "# Größe\nport = 9111\n")
    done = call("arena", "config", "--config", str(file), "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["port"]["value"] == 9111


def test_a_config_file_is_utf_8_in_any_locale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("locale.getencoding", lambda: "cp1252")
    (tmp_path / "a.toml").write_text('title = "Łódź"\n', "utf-8")
    done = call("arena", "config", "--config", str(tmp_path / "a.toml"), "--json")
    assert "has an unknown key 'title'" in done.err
    (tmp_path / "a.toml").write_text('# "Größe"\n', "cp1252")
    done = call("arena", "config", "--config", str(tmp_path / "a.toml"))
    assert (done.code, done.err) == (
        2,
        f"arena: the config file {tmp_path}/a.toml is not text in UTF-8: save it as UTF-8\n",
    )


def test_entrants_are_read(written: Written) -> None:
    toml = written("e.toml", '[[entrants]]\nname = "ann"\nbot = "random"\n')
    assert read_entrants(toml) == ["ann=random"]
    assert read_entrants(written("e.csv", "Name;Bot\nann;random\n")) == ["ann=random"]


def test_values_in_files_are_read(written: Written) -> None:
    assert read_value(f"@{written('a.toml', 'heaps = [3, 5]')}") == {"heaps": [3, 5]}
    assert read_value(f"@{written('a.json', '[3, 5]')}") == [3, 5]


@pytest.mark.parametrize(
    "text",
    [
        "name,group\nanna,A\nben,B\n",
        "name\tgroup\nanna\tA\nben\tB\n",
        "sep=;\nname;group\nanna;A\nben;B\n",
        '"sep=;"\nname;group\nanna;A\nben;B\n',
        "SEP=,\nname,group\nanna,A\nben,B\n",
        "sep=\t\nName\tgroup\nanna\tA\nben\tB\n",
        "Name,group\nanna,A\nben,B\n",
        "NAME ,group\nanna ,A\nben,B\n",
        "name,group,,\nanna,A,,\nben,B,,\n,,,\n",
        "name,group\nanna,A,\nben,B,\n",
        "\ufeff\ufeffname,group\nanna,A\nben,B\n",
    ],
)
def test_a_list_of_names_is_read_as_a_spreadsheet_saves_it(written: Written, text: str) -> None:
    listed = read_name_list(written("names.csv", text), FORBIDDEN_COLUMNS)
    assert [list(row.values()) for row in listed.rows] == [["anna", "A"], ["ben", "B"]]
    assert [row["name"] for row in listed.rows] == ["anna", "ben"]
    new = NewBots.make(listed, "names.csv", [])
    assert new.to_csv().splitlines()[1].startswith(f"anna{listed.delimiter}A{listed.delimiter}")
    assert is_headed(text)


def test_a_list_keeps_the_names_of_its_columns_and_lines(tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("sep=;\nName;Group;name\nAnna M.;A;anna\nBen;B;be n\n")
    listed = read_name_list(tmp_path / "names.csv")
    assert listed.columns == ["Name", "Group", "name"]
    assert (listed.rows[0], listed.lines) == ({"Name": "Anna M.", "Group": "A", "name": "anna"}, [3, 4])
    with pytest.raises(UsageFault, match=r"^names, line 4: 'be n' is not a name for a bot"):
        NewBots.make(listed, "names", [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Name,NAME\nanna,A\n", "line 1: the column 'name' is there 2 times"),
        ("name,Token\nanna,A\n", "line 1: there is a column token already"),
        ("sep=;\nbot;group\nanna;A\n", "line 2: the column name is missing"),
        ("sep=;\n", "line 1: the column name is missing, the file is empty"),
        ("name,group\nanna,A,,x\n", "line 2: it has 4 fields, the first line 2"),
    ],
)
def test_what_is_wrong_in_a_list_is_told_by_its_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "names.csv").write_text(text)
    with pytest.raises(UsageFault, match=said):
        read_name_list(tmp_path / "names.csv", FORBIDDEN_COLUMNS)


def test_a_pipe_into_which_nobody_writes_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(TimeoutError, match="it is a pipe or device without an end"):
        read_bytes(tmp_path / "fifo", timeout_s=0.0)
    reads, writes = os.pipe()
    os.write(writes, b"port = 1")
    os.close(writes)
    assert read_bytes(Path(f"/dev/fd/{reads}")) == b"port = 1"
    os.close(reads)


def test_a_list_that_is_too_long_is_refused_and_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "names.csv").write_text("name\nanna\nben\ncarl\n", "utf-8")
    reads, writes = os.pipe()
    os.write(writes, b"name\nanna\nben\ncarl\n")
    os.close(writes)
    monkeypatch.setattr(input_file, "MAX_BYTES", 10)
    for file in (tmp_path / "names.csv", Path(f"/dev/fd/{reads}")):
        with pytest.raises(UsageFault, match="can't be read: it has more than 10 bytes"):
            read_name_list(file)
    os.close(reads)


def test_tokens_are_written_in_utf_8_in_any_locale(tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("name,place\nanna,Łódź\n", "utf-8")
    words = ["bot", "add", "--from", "names.csv", "--tokens-to", "tokens.csv", "--data", "data"]
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run(
        [sys.executable, "-m", "arena", *words], check=True, cwd=tmp_path, env={**os.environ, **locale}, timeout=WITHIN
    )
    assert "anna,Łódź," in (tmp_path / "tokens.csv").read_text("utf-8")
