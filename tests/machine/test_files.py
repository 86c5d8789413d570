"""Config values that stand in files: what they are read as, and what is said of those that can't be."""

from __future__ import annotations

from pathlib import Path

import pytest

from bots.client.settings import read_config
from commands import call
from machine.arguments import MAX_FILE_BYTES, read_value
from protocol.codec import JSON, MSGPACK
from protocol.errors import UsageFault
from protocol.messages import Seek


def test_a_value_may_stand_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my.toml").write_text('name = "Niño"\nheaps = [3, 5]\n', "utf-8")
    (tmp_path / "my.json").write_text('{"heaps": [3, 5]}')
    assert read_value(f"@{tmp_path}/my.toml") == {"name": "Niño", "heaps": [3, 5]}
    assert read_value(f"@{tmp_path}/my.json") == {"heaps": [3, 5]}
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_value("@~/my.json") == {"heaps": [3, 5]}, "the shell leaves a tilde after @ alone"


def test_a_table_knows_its_file_and_travels_as_any_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.toml").write_text('name = "mine"')
    table = read_value("@my.toml")
    assert (table, table.file) == ({"name": "mine"}, "'my.toml'")
    seek = Seek(id="1", game="risk-duel", config={"map": table})
    for codec in (MSGPACK, JSON):
        assert codec.decode_client(codec.encode(seek)) == seek


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("my.toml", b"a = 1\nb =\n", r"is not TOML: Invalid value \(at line 2, column 4\)"),
        (
            "my.toml",
            b"a = 1\n" + b"k" * 500 + b" = 1\n" + b"k" * 500 + b" = 2\n",
            r"is not TOML: .*line 3, column \d+\)",
        ),
        ("my.toml", b"\xff", "is not TOML: 'utf-8' codec can't decode byte 0xff"),
        ("my.toml", b"a = \x1b\n", "is not TOML: .*line 1"),
        ("my.toml", b"a = " + b"[" * 5000, "is not TOML: "),
        ("my.json", b'{"a": 1,\n}', r"is not JSON: .* line \d column \d"),
        ("my.toml", b"a = " + b"9" * 5000, "can't be read: a number has more than 4300 digits"),
        ("my.toml", b"[a]\nb = [1, {c = 0x" + b"f" * 5000 + b"}]", "can't be read: a number has more than 4300 digits"),
        ("my.json", b"[" + b"9" * 5000 + b"]", "can't be read: a number has more than 4300 digits"),
        ("my.toml", b"#" * (MAX_FILE_BYTES + 1), "can't be read: it has more than 1048576 bytes"),
        ("my.toml", None, "can't be read: No such file or directory"),
        ("", None, "can't be read: Is a directory"),
        ("\x1b[2J\0", None, "can't be read: .*embedded null (byte|character)"),
        ("x" * 200, None, "can't be read: No such file or directory"),
        ("x" * 300, None, "can't be read: File name too long"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_line(
    tmp_path: Path, name: str, content: bytes | None, complaint: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageFault, match=complaint) as refused:
        read_value(f"@{tmp_path}/{name}")
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 200


def test_both_command_lines_read_a_map_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.json").write_text('{"name": "mine", "territories": []}')
    assert read_config(["map=@my.json"], None) == {"map": {"name": "mine", "territories": []}}
    for file, said in (
        ("my.json", "risk-duel: in 'my.json': map has no continents: its keys are name, territories"),
        ("nowhere.toml", "the file 'nowhere.toml' can't be read: No such file or directory"),
    ):
        words = ("--game", "risk-duel", "--set", f"map=@{file}", "--data", str(tmp_path))
        code, out, err = call("arena", "tournament", "random", "greedy", *words)
        assert (code, out, said in err) == (2, "", True), err
