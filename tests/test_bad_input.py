"""Every command against bad input: one line that says what is wrong and what would be right, and nothing written over.

Commands run in this process, through the entry point of the program; an exception that escaped would fail the test.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import tournaments
from arena.processes.bot_commands import known_bots
from bot_checks import check_settings_here
from bots import run as run_bot
from bots.reference.random_bot import RandomBot
from commands import REPOSITORY, Done, call, run
from in_process import hosted_beside
from timeouts import WITHIN

Rows = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """In an empty folder; what is not refused but runs ends with 130."""
    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(int(WITHIN))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def assert_refused(done: Done, code: int, says: str, program: str = "arena") -> None:
    """One line, in the program's name, and nothing beside it."""
    assert done.err.startswith(f"{program}: {says}")
    assert (done.code, done.out, done.err.count("\n")) == (code, "", 1)

    # Wrong usage: what the words say cannot be meant


NIM = ("tournament", "random", "greedy", "--game", "nim")
BOTS = ", ".join(known_bots())
LONG_NAME = "a" * 300
"""A name that no file has."""
WRONG_USAGE = [
    (("tournament", "random", "greedy", "--game", "chess"), "there is no game 'chess': one of nim, grundy, tictactoe"),
    (("tournament", "random", "gredy", "--game", "nim"), f"there is no bot 'gredy': one of {BOTS}, or NAME=COMMAND"),
    (("tournament", "random", "--game", "nim"), f"a tournament needs two bots or more; there are {BOTS}, or NAME=COMM"),
    (
        ("tournament", "random", "x=nosuchprogram", "--game", "nim"),
        "x: there is no program 'nosuchprogram', nor a bot of that name: one in this folder is ./nosuchprogram, and "
        f"bots are {BOTS}",
    ),
    (("tournament", "random", "x=gredy:depth=3", "--game", "nim"), "there is no bot 'gredy': one of "),
    (("tournament", "random", "x=./nothing", "--game", "nim"), "x: there is no program './nothing' to run"),
    ((*NIM, f"x=./{LONG_NAME}"), "x: there is no program './aaaa"),
    ((*NIM, "--json", f"{LONG_NAME}/x"), "--json aaaa"),
    (
        ("tournament", "random", "x=cat 'open", "--game", "nim"),
        'x: "cat \'open" is no command line: no closing quotation',
    ),
    (
        ("tournament", "random", "alphabeta:depth=3,depth=4", "--game", "nim"),
        "alphabeta: depth is set twice, to 3 and to 4; alphabeta has ",
    ),
    (
        ("tournament", "random:seed=4", "greedy", "--game", "nim"),
        "random has no setting 'seed': it has none",
    ),
    (
        ("tournament", "random", "deep=alphabeta:depth=x", "--game", "nim"),
        "deep: depth is 'x': it must be an integer from 1 to 64",
    ),
    (
        ("tournament", "random", "x=alphabeta:depth", "--game", "nim"),
        "x: 'depth' is not a setting: write KEY=VALUE, as in x=alphabeta:KEY=VALUE; alphabeta has depth, eval",
    ),
    *(
        ((command, *NIM[1:], "--preset", "big"), "nim has no preset 'big': one of classic, min-nim, sticks")
        for command in ("try", "tournament", "test")
    ),
    (
        (*NIM, "--preset", "big", "--set", "preset=classic"),
        "--preset big and --set preset=classic name two presets: give one of them",
    ),
    (
        (*NIM, "--set", "heap=3"),
        "nim has no config key 'heap': one of heaps, take, misere, start, preset; bots have battles, ",
    ),
    (
        (*NIM[:-1], "risk-campaign", "--set", "draft=greedy"),
        "risk-campaign: draft is 'greedy': one of territories, classic; to set it for a bot, write it with the ",
    ),
    ((*NIM, "--set", "sims=abc"), "--set sims=abc: none of these bots has this setting: random, greedy"),
    (
        ("tournament", "random", "x=uct:100", "--game", "risk-duel"),
        "x: '100' is not a setting: write KEY=VALUE, as in x=uct:KEY=VALUE; uct has sims",
    ),
    (
        ("tournament", "random", "x=alphabeta:weights=1/1/1/1", "--game", "risk-campaign"),
        "x: weights is '1/1/1/1', but its evaluation of risk-campaign, outlook, has 6 weights: give as many, or set ",
    ),
    ((*NIM, "--set", "heaps"), "--set heaps: write KEY=VALUE, like --set heaps=3,5,7"),
    ((*NIM, "--set", "=3"), "--set =3: write KEY=VALUE, like --set heaps=3,5,7"),
    ((*NIM, "--set", "heaps=NaN"), "nim: heaps is nan: it must be a list of 1 to 64 integers"),
    (
        (*NIM, "--clock", "1+" + "9" * 5000),
        f"clock is '1+{'9' * 34}...: it must be seconds",
    ),
    ((*NIM, "--clock", "abc"), "clock is 'abc': it must be seconds and increment, like 60+0.5, from 0.001 s to a day"),
    ((*NIM, "--clock", "0"), "clock is '0': it must be seconds and increment, like 60+0.5"),
    ((*NIM, "--rounds", "0"), "--rounds is 0: it is 1 to 100000"),
    ((*NIM, "--rounds", "1000000000"), "--rounds is 1000000000: it is 1 to 100000"),
    (
        (*NIM, "a=random", "b=random", "c=random", "--rounds", "100000", "--paired"),
        "that makes 2,000,000 matches: at most 1,000,000, so fewer bots or --rounds",
    ),
    ((*NIM, "--jobs", "0"), "--jobs is 0: it is 1 to 1024"),
    ((*NIM, "--format", "knockout"), "there is no format 'knockout': one of round-robin, gauntlet, swiss"),
    (
        (*NIM, "--json", "nowhere/out.json"),
        "--json nowhere/out.json can't be written: name a file in an existing folder",
    ),
    ((*NIM, "--json", "."), "--json . can't be written: name a file in an existing folder"),
    (("matches", "--limit", "0"), "--limit is 0: it is 1 or more"),
    (("bot", "add", "a b"), "'a b' is not a name for a bot: 1 to 32 letters, digits"),
    (("serve", "--admin", "--no-web"), "admin needs the web pages: leave out --no-web"),
    (
        ("serve", "--admin-host", "http://arena.lan"),
        "admin_host: 'http://arena.lan' is no name of a host; it is names of",
    ),
    (("serve", "--port", "70000"), "port is 70000: it is a port from 0 to 65535"),
    (("serve", "--free-names-after", "36501"), "free_names_after is 36501: it is days from 0 to 36500, 0 for never"),
    (
        ("serve", "--socket-url", "https://arena.example.org"),
        "socket_url is 'https://arena.example.org': it is where browsers find the arena, like wss://arena.example.org/",
    ),
    (("serve", "--registration", "maybe"), "registration is 'maybe': it is one of open, closed"),
    (("serve", "--max-connections", "0"), "max_connections is 0: it is a number from 1"),
    (
        ("serve", "--trusted-proxy", "127.0.0.1,nginx"),
        "trusted_proxy: 'nginx' is no address and no network; it is addresses and networks, like 127.0.0.1,10.0.0.0/8",
    ),
    (("serve", "--config", "nothing.toml"), "the config file nothing.toml can't be read: No such file or directory"),
    (("serve", "--mqtt", "broker"), "the MQTT address begins with 'no scheme': it looks like mqtt://host:1883/prefix"),
    (
        ("serve", "--mqtt", "http://broker"),
        "the MQTT address begins with 'http': it looks like mqtt://host:1883/prefix",
    ),
    (("serve", "--mqtt", "mqtt://"), "the MQTT address names no host: it looks like mqtt://host:1883/prefix"),
    (("serve", "--mqtt", "mqtt://[::1].evil"), "the MQTT address names no host: it looks like mqtt://host:1883/prefix"),
    (("serve", "--mqtt", "mqtt://broker:x/y"), "the MQTT address cannot be read (Port could not be cast"),
    (("serve", "--mqtt", "mqtt://broker/#"), "an MQTT prefix with ? or # is no topic: it looks like mqtt://host"),
]


@pytest.mark.parametrize(("words", "says"), WRONG_USAGE, ids=[" ".join(words) for words, _ in WRONG_USAGE])
def test_wrong_usage_is_refused_in_one_line(
    tmp_path: Path, words: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_settings_here(monkeypatch)
    assert_refused(call("arena", *words), 2, says)
    assert list(tmp_path.rglob("*.db")) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("analyze", "nim", "--", "-1,3"), "heap '-1': give integers from 0 to 1000000 with commas, like 10,20,30"),
        (
            ("analyze", "nim", "3", "--take", "0"),
            "--take '0': give integers from 1 to 1000000 with commas, like 10,20,30",
        ),
        (("run", "mine.py"), "'mine.py' is a program that connects by itself: run python mine.py"),
        (("run", "gredy"), f"there is no bot 'gredy': one of {BOTS}"),
        (("run", "perfect", "--game", "tictactoe"), "perfect does not play tictactoe: it plays nim, grundy"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_usage_of_a_bot_is_refused_in_one_line(words: tuple[str, ...], says: str) -> None:
    assert_refused(call("arena-bot", *words), 2, says, "arena-bot")


@pytest.mark.parametrize(
    ("program", "words", "says"),
    [
        ("arena", "bot show", "missing argument 'NAME'; `arena bot show --help` says what there is"),
        ("arena", "serve --prot 1", "no such option: --prot (Possible options: --host, --port, --web-port); `arena se"),
        ("arena", "serve --port x", "'--port' takes an integer; `arena serve --help` says what there is"),
        ("arena", "serve --port", "option '--port' requires an argument"),
        ("arena", "replay show m-1 --play soon", "'--play' takes a number; `arena replay show --help` says what ther"),
        ("arena", "nothing", "no such command 'nothing'; `arena --help` says what there is"),
        ("arena-bot", "run random --slots x", "'--slots' takes an integer; `arena-bot run --help` says what there is"),
        ("arena-bot", "compare nim --depth x", "'--depth' takes an integer; `arena-bot compare --help` says what the"),
        ("arena-bot", "analyze nim 3 4", "got unexpected extra argument(s) (4); `arena-bot analyze nim --help` says w"),
    ],
)
def test_words_that_no_command_can_read_are_one_line_that_says_where_to_look(
    program: str, words: str, says: str
) -> None:
    assert_refused(call(program, *words.split()), 2, says, program)


@pytest.mark.parametrize(("program", "words"), [("arena", ""), ("arena", "bot"), ("arena-bot", "")])
def test_a_group_of_commands_without_a_word_shows_its_help(program: str, words: str) -> None:
    done = call(program, *words.split())
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"Usage: {program} ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--slots", "x"), "--slots: 'x' is not an integer; --help says what there is"),
        (("--min-move-time", "slow"), "--min-move-time: 'slow' is not a number; --help says what there is"),
        (("--quick",), "unrecognized arguments: --quick; --help says what there is"),
        (("--game",), "--game: expected one argument; --help says what there is"),
    ],
)
def test_words_that_a_bot_of_ones_own_can_not_read_are_one_line(
    words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        run_bot(RandomBot("mine"), words)
    told = capsys.readouterr()
    assert (stop.value.code, told.out, told.err) == (2, "", f"mine: {says}\n")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            'hots = "x"',
            "the config file arena.toml, line 1, has an unknown key 'hots': did you mean 'host'?",
        ),
        ('host = "::"\nport = "x"', "port in arena.toml, line 2, is 'x': it is a port from 0 to 65535"),
        ("port = true", "port in arena.toml, line 1, is true: it is a port from 0 to 65535"),
        (
            "builtin_bots = [1]",
            "builtin_bots in arena.toml, line 1, is [1]: it is bots like random,greedy,alphabeta:nodes=20000",
        ),
        (
            "[zoo]\nport = 1",
            "the config file arena.toml, line 1, has an unknown key 'zoo': `arena config` lists all keys",
        ),
        ('clock = "x"', "clock in arena.toml, line 1, is 'x': it must be seconds and increment, like 60+0.5"),
        ("clock = 60", "clock in arena.toml, line 1, is 60: it is seconds and increment, like 60+0.5"),
        ("port = ", "the config file arena.toml is not TOML: Invalid value (at "),
        ("\x00", "the config file arena.toml is not TOML: "),
    ],
)
def test_a_bad_config_file_is_refused_in_one_line(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "arena.toml").write_text(content)
    assert_refused(call("arena", "serve", "--config", "arena.toml"), 2, says)


def test_a_bad_variable_is_refused_in_one_line() -> None:
    assert_refused(call("arena", "serve", ARENA_PORT="http"), 2, "ARENA_PORT is 'http': it is a port from 0 to 65535")

    # Databases that are not to be touched


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a rated match on a preset, and one that began with a deal."""
    folder = tmp_path_factory.mktemp("played") / "data"
    for sets in ("preset=classic", "start=p-position"):
        words = ("random", "greedy", "--game", "nim", "--set", sets, "--in-process", "--data", str(folder))
        done = tournaments.played("arena", "tournament", *words)
        assert done.code == 0, done.err
    return folder


def text_file(file: Path, played: Path) -> None:
    file.write_text("my diary\n")


def another_database(file: Path, played: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE recipes (name)")
    connection.close()


def newer_schema(file: Path, played: Path) -> None:
    file.write_bytes((played / "arena.db").read_bytes())
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()


def damaged(file: Path, played: Path) -> None:
    """With zeros for the first page of an index by which nothing is asked that has to be known."""
    whole = (played / "arena.db").read_bytes()
    page = int.from_bytes(whole[16:18], "big")
    with closing(sqlite3.connect(played / "arena.db")) as database:
        (root,) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'incidents_by_bot'").fetchone()
    file.write_bytes(whole[: (root - 1) * page] + bytes(page) + whole[root * page :])


UNTOUCHABLE = [
    (text_file, "my.db is not a database: choose another file"),
    (another_database, "my.db is a database, but not Bot Arena's: choose another file"),
    (newer_schema, "my.db has schema 9999, newer than this bot-arena knows: upgrade bot-arena"),
]
TOUCHING = [
    ("leaderboard",),
    ("bot", "add", "maria"),
    ("db", "upgrade"),
    ("db", "check"),
    ("serve", "--no-web", "--port", "0"),
    NIM,
]


@pytest.mark.parametrize("words", TOUCHING, ids=" ".join)
@pytest.mark.parametrize(("make", "says"), UNTOUCHABLE, ids=[make.__name__ for make, _ in UNTOUCHABLE])
def test_a_file_that_is_not_ours_is_left_as_it_is(
    tmp_path: Path,
    played: Path,
    make: Callable[[Path, Path], None],
    says: str,
    words: tuple[str, ...],
) -> None:
    file = tmp_path / "my.db"
    make(file, played)
    before = file.read_bytes()
    assert_refused(call("arena", *words, "--db", "my.db"), 1, says)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.glob("my.db*")] == ["my.db"]


@pytest.mark.parametrize(
    ("db", "says"),
    [
        ("folder", "folder can't be read: Is a directory"),
        ("diary.txt/arena.db", "diary.txt/arena.db can't be read: Not a directory"),
        ("/proc/none/arena.db", "the folder /proc/none can't be made: "),
        (
            "mysql://host/arena",
            "a database URL is sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME, not mysql://…",
        ),
    ],
)
def test_a_database_that_cannot_be_is_refused_in_one_line(tmp_path: Path, db: str, says: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "diary.txt").write_text("my diary\n")
    for words in (("bot", "add", "maria"), ("serve", "--no-web", "--port", "0"), NIM):
        assert_refused(call("arena", *words, "--db", db), 1, says)


@pytest.mark.parametrize("words", [("leaderboard",), ("matches",), ("replay", "verify"), ("db", "check")], ids=" ".join)
def test_looking_where_nothing_was_played_makes_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    says = "no arena data in arena-data/arena.db: start `arena serve` or `arena tournament` first"
    assert_refused(call("arena", *words), 1, says)
    assert list(tmp_path.iterdir()) == []


def test_a_database_with_a_page_of_zeros_is_found_out(tmp_path: Path, played: Path) -> None:
    damaged(tmp_path / "my.db", played)
    done = call("arena", "db", "check", "--db", "my.db")
    assert done.out == "the file can't be read: database disk image is malformed\n"
    assert_refused(done._replace(out=""), 1, "my.db has 1 error")


@pytest.mark.parametrize("data", ["diary.txt", "/proc/none"])
@pytest.mark.parametrize("words", [("serve", "--no-web", "--port", "0"), NIM], ids=" ".join)
def test_a_data_folder_that_cannot_be_is_refused_in_one_line(tmp_path: Path, words: tuple[str, ...], data: str) -> None:
    (tmp_path / "diary.txt").write_text("my diary\n")
    assert_refused(call("arena", *words, "--data", data), 1, f"the data folder {data} can't be used: ")


def test_a_journal_that_is_no_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "journal").write_text("my diary\n")
    done = call("arena", "serve", "--no-web", "--port", "0", "--data", "data")
    assert_refused(done, 1, "the journal's folder data/journal can't be made: File exists")


def test_a_tournament_without_a_folder_for_its_bots_words_says_so_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tournaments").write_text("my diary\n")
    done = tournaments.played("arena", *NIM, "--data", "data")
    _, said = done.err.splitlines()
    assert_refused(done._replace(err=said + "\n"), 1, f"the folder of logs {tmp_path}/data/tournaments/t")


def test_a_port_in_use_is_refused_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        says = f"port {port} on 127.0.0.1 is in use: choose another one with --port, or 0 for a free one"
        assert_refused(call("arena", "serve", "--no-web", "--port", str(port)), 1, says)
    assert not Path("arena-data").exists()


def test_a_folder_in_use_is_refused_in_one_line_that_names_the_holder(tmp_path: Path) -> None:
    with hosted_beside(tmp_path / "data"):
        says = f"data is in use by process {os.getpid()}: stop it, or name another folder with --data"
        assert_refused(call("arena", "serve", "--no-web", "--port", "0", "--data", "data"), 1, says)
        assert_refused(call("arena", *NIM, "--data", "data"), 1, says)
        assert_refused(call("arena", "db", "rebuild-ratings", "--data", "data"), 1, says)
        beside = call("arena", "bot", "add", "maria", "--data", "data")
        assert (beside.code, len(beside.out.strip())) == (0, 43)
        assert call("arena", "bot", "list", "--data", "data").out.splitlines()[1].startswith("maria")

        # Records that lie, are cut or are not ours


def stored(folder: Path, at: int) -> str:
    """The id of the match that was played first (0) or second (1)."""
    done = call("arena", "matches", "--data", str(folder), "--json")
    return str(json.loads(done.out)[1 - at]["match"])


@pytest.fixture(scope="module")
def lines(played: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[str]]:
    """The lines of two records: of a rated match, and of one that began with a deal."""
    folder = tmp_path_factory.mktemp("records")
    exported = []
    for at in (0, 1):
        file = folder / f"{at}.jsonl"
        done = call("arena", "replay", "export", stored(played, at), "--to", str(file), "--data", str(played))
        assert done.code == 0, done.err
        exported.append(file.read_text().splitlines(keepends=True))
    return exported[0], exported[1]


def test_an_exported_record_verifies(tmp_path: Path, lines: tuple[list[str], list[str]]) -> None:
    for record in lines:
        (tmp_path / "match.jsonl").write_text("".join(record))
        done = call("arena", "replay", "verify", "match.jsonl")
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("match.jsonl: verified, ")


def change_move(rows: Rows) -> None:
    move = rows[3]["event"]["move"]
    move["take"] += 1 if move["take"] == 1 else -1


def change_heap(rows: Rows) -> None:
    heaps = rows[1]["event"]["move"]["heaps"]
    heaps[0] += 1 if heaps[0] == 0 else -1


@pytest.mark.parametrize(
    ("which", "change", "says"),
    [
        (0, change_move, r": ply 2: the digest does not follow"),
        (1, change_heap, r": ply 0: move should be \{'heaps': \["),
    ],
)
def test_a_changed_record_is_refused_with_the_ply(
    tmp_path: Path,
    lines: tuple[list[str], list[str]],
    which: int,
    change: Callable[[Rows], None],
    says: str,
) -> None:
    rows = [json.loads(line) for line in lines[which]]
    change(rows)
    (tmp_path / "match.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = call("arena", "replay", "verify", "match.jsonl")
    assert_refused(done, 1, rows[0]["match"])
    assert re.match(f"arena: {rows[0]['match']}{says}", done.err)


def cut_in_a_line(record: list[str]) -> bytes:
    return "".join(record).encode()[:-40]


def cut_after_a_line(record: list[str]) -> bytes:
    return "".join(record[:3]).encode()


def cut_gzip(record: list[str]) -> bytes:
    return gzip.compress("".join(record).encode())[:-40]


def newer_format(record: list[str]) -> bytes:
    return "".join(record).encode().replace(b'"format":2', b'"format":3')


def foreign_lines(record: list[str]) -> bytes:
    return b'{"white": "maria"}\n'


def foreign_bytes(record: list[str]) -> bytes:
    return b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("verb", ["verify", "show"])
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (cut_in_a_line, "match.jsonl is cut short in line "),
        (cut_after_a_line, "match.jsonl is cut short after ply 1: it has no footer"),
        (cut_gzip, "match.jsonl is cut short: its gzip stream has no end"),
        (newer_format, "match.jsonl has format 3, written by "),
        (foreign_lines, "match.jsonl is not a match record: line 1: "),
        (foreign_bytes, "match.jsonl is not a match record: "),
        (lambda record: b"", "match.jsonl is empty: a match record begins with a header line"),
    ],
)
def test_a_file_that_is_no_whole_record_is_refused_in_one_line(
    tmp_path: Path,
    lines: tuple[list[str], list[str]],
    make: Callable[[list[str]], bytes],
    says: str,
    verb: str,
) -> None:
    (tmp_path / "match.jsonl").write_bytes(make(lines[0]))
    assert_refused(call("arena", "replay", verb, "match.jsonl"), 1, says)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a.json", "was exported from a record: name the match's .jsonl or .jsonl.gz, or its id"),
        ("nothing.jsonl", "can't be read: No such file or directory"),
    ],
)
def test_what_cannot_be_a_record_is_refused_by_its_name(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "a.json").write_text("<!doctype html>")
    assert_refused(call("arena", "replay", "verify", name), 1, f"{name} {says}")


def test_of_many_records_each_that_is_wrong_is_named(tmp_path: Path, lines: tuple[list[str], list[str]]) -> None:
    (tmp_path / "good.jsonl").write_text("".join(lines[0]))
    (tmp_path / "bad.jsonl").write_text("".join(lines[0][:3]))
    done = call("arena", "replay", "verify", "bad.jsonl", "good.jsonl")
    assert done.code == 1
    assert done.err == (
        "arena: bad.jsonl is cut short after ply 1: it has no footer\narena: 1 of 2 records did not verify\n"
    )
    assert done.out.startswith("good.jsonl: verified, ")


@pytest.mark.parametrize("words", [("show", "nothing"), ("verify", "nothing"), ("export", "nothing", "--to", "x.json")])
def test_an_unknown_match_is_refused_in_one_line(played: Path, words: tuple[str, ...]) -> None:
    done = call("arena", "replay", *words, "--data", str(played))
    assert_refused(done, 2, f"there is no match 'nothing' in sqlite:///{played}/arena.db: `arena matches` lists those")


def test_what_has_a_slash_is_a_file_and_no_match() -> None:
    assert_refused(call("arena", "replay", "show", "nothing/m1"), 1, "nothing/m1 can't be read: No such file")


@pytest.mark.parametrize(
    ("to", "code", "says"),
    [
        ("diary.json", 2, "diary.json already exists and is not overwritten: choose another name"),
        ("match.pdf", 2, "--to match.pdf: its name must end in one of .jsonl, .jsonl.gz, .json"),
        ("nowhere/match.json", 1, "nowhere/match.json can't be written: No such file or directory"),
    ],
)
def test_a_record_is_exported_to_a_new_file_only(tmp_path: Path, played: Path, to: str, code: int, says: str) -> None:
    (tmp_path / "diary.json").write_text("my diary\n")
    done = call("arena", "replay", "export", stored(played, 0), "--to", to, "--data", str(played))
    assert_refused(done, code, says)
    assert (tmp_path / "diary.json").read_text() == "my diary\n"
    assert [path.name for path in tmp_path.iterdir()] == ["diary.json"]


@pytest.mark.parametrize("verb", ["rotate", "revoke"])
def test_an_unknown_bot_is_refused_in_one_line(played: Path, verb: str) -> None:
    done = call("arena", "bot", verb, "maria", "--data", str(played))
    assert_refused(done, 2, "there is no bot called maria: `arena bot list` names them")

    # As real processes


def test_a_refusal_is_one_line_and_a_code_to_the_shell_as_well(tmp_path: Path) -> None:
    failed = run("arena", "leaderboard", "--data", str(tmp_path))
    assert (failed.returncode, failed.stdout, failed.stderr.count("\n")) == (1, "", 1)


HEAVY = ("sqlalchemy", "alembic", "websockets", "rich.progress", "trueskill", "networkx", "uvloop", "aiomqtt")


@pytest.mark.parametrize("module", ["arena.cli", "bots.cli"])
def test_help_loads_nothing_heavy(module: str) -> None:
    program = (
        f"import sys, {module}\nsys.argv = ['program', '--help']\ntry: {module}.main()\nexcept SystemExit: pass\n"
        f"sys.exit(', '.join(set({HEAVY}) & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage:" in done.stdout
