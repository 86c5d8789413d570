"""What strangers write, shown by commands: whatever is in it, a terminal gets characters that are seen, and no more."""

from __future__ import annotations

import io
import json
import os
import re
import socket
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.live import Live
from rich.progress import Progress
from rich.table import Table
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

from arena.commands import output
from arena.store.finish import finish_matches
from arena.store.registry import add_bots
from arena.store.result_queries import iter_results, record_of
from arena.store.store import Store
from commands import call, on_terminal
from machine.console import Console
from machine.terminal import say
from referee.record_reader import unpack
from referee.result import Result, SeatResult
from stored_matches import storable, stored
from tournaments import played

UNSEEN = ("Cc", "Cf", "Zl", "Zp", "Zs", "Co", "Cn")
"""Categories of Unicode: controls, formats, separators, private and unassigned ones."""
MOST = 200
"""Characters of each: the thousands of the last two are alike."""


def unseen() -> str:
    """Characters of these categories, but for line feeds and spaces."""
    found: dict[str, list[str]] = {category: [] for category in UNSEEN}
    for char in map(chr, range(sys.maxunicode + 1)):
        some = found.get(unicodedata.category(char))
        if some is not None and len(some) < MOST:
            some.append(char)
    return "".join(char for some in found.values() for char in some if char not in "\n ")


HOSTILE = f"<\x1b[2J\x1b]0;owned\x07\x9b31m{unseen()}>"
HOSTILE_NAME = HOSTILE.replace("\0", "")
"""The same as a name, which has no NUL: the store looks names up in JSON lists, and PostgreSQL keeps none."""
MOVES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def is_seen(text: str) -> bool:
    """Whether a text is lines of characters that are seen, and has words of a stranger's in it."""
    return text != "" and all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("err", [False, True])
def test_lines_are_shown_with_nothing_in_them_that_a_terminal_obeys(
    err: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    say(f"a bot said:\n{HOSTILE}", err=err)
    assert is_seen(shown := capsys.readouterr()[err])
    assert shown.startswith("a bot said:\n<\\x1b[2J\\x1b]0;owned\\x07\\x9b31m\\x00\\x01")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_line_is_written_in_one_piece(unbuffered: str) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-c", "from machine.terminal import say; say('a line', err=True)"]
    with ours, theirs:
        subprocess.run(command, stderr=theirs, check=True, env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
        assert ours.recv(100) == b"a line\n"


def test_what_the_encoding_of_a_stream_does_not_have_is_written_as_an_escape() -> None:
    command = [sys.executable, "-c", "from machine.terminal import say; say('25.0 \u00b1 3.1')"]
    done = subprocess.run(command, capture_output=True, check=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.stdout == b"25.0 \\xb1 3.1\n"


@pytest.mark.parametrize("terminal", [False, True])
def test_what_rich_draws_has_nothing_in_its_texts_that_a_terminal_obeys(terminal: bool) -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=200)
    table = Table(HOSTILE)
    table.add_row(HOSTILE)
    console.print(table)
    console.print(HOSTILE)
    with Live(HOSTILE, console=console, auto_refresh=False) as live:
        live.update(table, refresh=True)
    with Progress(console=console, auto_refresh=False) as progress:
        progress.add_task(HOSTILE)
        progress.refresh()
    assert is_seen(MOVES.sub("", file.getvalue()).replace("\r", ""))
    assert "owned" in file.getvalue()
    assert HOSTILE[1:5] not in file.getvalue()


def test_what_rich_draws_is_as_it_was_written() -> None:
    text = "[red]12[/red] :smile:"
    file = io.StringIO()
    console = Console(file=file, force_terminal=True)
    console.print(text)
    assert file.getvalue() == f"{text}\n"
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row(text)
    console.print(table)
    assert file.getvalue() == f"{text}\n{text}\n"


def test_a_board_that_is_redrawn_has_nothing_in_it_that_a_terminal_obeys() -> None:
    assert is_seen(on_terminal(lambda: output.redraw(["title", HOSTILE])))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    store = Store.open(folder / "arena.db")
    store.write(add_bots, {"ann": "0" * 64, HOSTILE_NAME: "1" * 64})
    for number in range(2):
        done = Result(
            match=f"m{number}",
            game="nim",
            config={"heaps": HOSTILE},
            rated=True,
            pool="nim/classic",
            seats=tuple(SeatResult(bot=bot, version=HOSTILE, rank=1, reason=HOSTILE) for bot in ("ann", HOSTILE_NAME)),
            reason=HOSTILE,
            plies=9,
            digest=HOSTILE,
            started="2026-01-01T00:00:00Z",
            finished="2026-01-01T00:01:00Z",
            tournament=HOSTILE[:20],
        )
        store.write(finish_matches, [storable(done, HOSTILE.encode())])
    store.close()
    return folder


@pytest.mark.parametrize(
    "words",
    [
        "matches",
        "matches --json",
        "matches --csv",
        "leaderboard",
        "leaderboard --json",
        "leaderboard --csv",
        "bot list",
        "bot show ann",
        "bot show ann --json",
        "db check --quick",
    ],
)
def test_a_command_shows_what_is_stored_with_nothing_in_it_that_a_terminal_obeys(data: Path, words: str) -> None:
    done = call("arena", *words.split(), ARENA_DATA=str(data))
    assert is_seen(done.out + done.err)
    assert "x1b[2J" in (done.out + done.err).replace("u001b", "x1b")


@pytest.mark.parametrize("command", ["show", "show --boards", "show --json", "verify", "grade"])
def test_a_record_of_a_strangers_is_shown_with_nothing_in_it_that_a_terminal_obeys(
    tmp_path: Path, command: str
) -> None:
    store = stored(tmp_path / "arena.db")
    [match, *_] = (result.match for result in store.iterate(iter_results))
    packed = store.read(record_of, match)
    store.close()
    assert packed is not None
    lines = [json.loads(line) for line in unpack(packed, "it").splitlines()]
    lines[0] |= {"version": HOSTILE, "started": HOSTILE, "tournament": HOSTILE}
    for seat in lines[0]["seats"]:
        seat |= {"bot": HOSTILE, "version": HOSTILE}
    for line in lines[1:-1]:
        line["info"] = {"note": HOSTILE, "value": 1.0}
    lines[-1] |= {"reason": HOSTILE, "finished": HOSTILE}
    file = tmp_path / "forged.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    verb, *options = command.split()
    done = call("arena", "replay", verb, str(file), *options)
    assert is_seen(done.out + done.err)


@pytest.fixture
def impostor() -> Iterator[str]:
    """The URL of a server that answers whoever comes with words that are no arena's."""

    def answer(wire: ServerConnection) -> None:
        wire.recv()
        wire.send(json.dumps({"type": "error", "code": HOSTILE, "message": HOSTILE, "fatal": True}))
        wire.close(4001, "\x1b[2J\u202e")

    with serve(answer, "127.0.0.1", 0, subprotocols=[Subprotocol("arena.v1.json")]) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()


@pytest.mark.parametrize("words", [["arena-bot", "run", "random", "--json"], ["arena", "watch"]])
def test_what_a_server_says_is_shown_with_nothing_in_it_that_a_terminal_obeys(
    impostor: str, words: list[str], tmp_path: Path
) -> None:
    done = call(*words, "--url", impostor, XDG_CONFIG_HOME=str(tmp_path), HOME=str(tmp_path))
    assert done.code != 0
    assert is_seen(done.out + done.err)


def test_what_a_bot_of_a_tournament_writes_is_shown_with_nothing_in_it_that_a_terminal_obeys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tell(line: str, **where: bool) -> None:
        say(line, **where)
        (tmp_path / "told").touch()

    monkeypatch.setattr("arena.processes.warmup_notice.say", tell)
    (tmp_path / "evil.py").write_text(
        "import os, sys, time\n"
        f"sys.stderr.buffer.write({f'evil: warming up for nim {HOSTILE}'.encode()!r} + b'\\n')\n"
        "sys.stderr.flush()\n"
        f"while not os.path.exists({str(tmp_path / 'told')!r}):\n"
        "    time.sleep(0.01)\n"
        f"sys.exit({HOSTILE!r})\n"
    )
    words = ["random", f"evil={sys.executable} {tmp_path / 'evil.py'}", "--game", "nim", "--rounds", "1", "--no-strict"]
    done = played("arena", "tournament", *words, "--data", str(tmp_path / "data"))
    assert is_seen(done.out)
    assert is_seen(done.err)
    assert "arena: evil: warming up for nim <\\x1b[2J" in done.err
    assert "last output" in done.err
    assert "evil ended with exit code 1" in done.err
    assert re.search(r"ended with exit code 1: .*\\u.* \(1 match\)", done.out)
