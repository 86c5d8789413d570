"""Standard streams that are closed, full or of few letters: programs run, and no traceback comes of it."""

from __future__ import annotations

import encodings.aliases
import io
import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from commands import REPOSITORY
from machine.standard_streams import ENCODING_ERRORS, _can_write
from timeouts import WITHIN

ARENA = f"{shlex.quote(sys.executable)} -m arena"
COMMAND = f"{ARENA} llr 10 2 3"
"""A command that prints, and opens no database, whose library would take longer to load than all else."""
CONNECTS = """
import asyncio, sys
from machine import event_loop, standard_streams

async def connect():
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    await reader.read()
    writer.close()
    server.close()

event_loop.run(connect())
"""
TEXT = "mean ± 3 sigma, ─ ♠ 🎲 Łódź"
ESCAPE = re.compile(r"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|\\U([0-9a-f]{8})")
"""A character that an encoding lacks, as Python writes it."""
PRINTS = f"""
from machine import standard_streams

standard_streams.prepare()
print({TEXT!r})
"""
BOT = """
from bots import Bot, run

class Mine(Bot):
    def choose(self, turn):
        return turn.legal[0]

run(Mine("mine"))
"""


def shell(line: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell, as only a process has standard streams of its own."""
    return subprocess.run(
        ["/bin/bash", "-c", line],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), "HOME": str(folder), **environ},
        capture_output=True,
        timeout=WITHIN,
        check=False,
        encoding="utf-8",
        errors="replace",
    )


@pytest.fixture
def full(tmp_path: Path) -> str:
    """A device of our own that takes nothing."""
    try:
        os.mknod(tmp_path / "full", 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        (tmp_path / "full").write_bytes(b"")
    except PermissionError:
        pytest.skip("only root makes devices")
    return str(tmp_path / "full")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_sockets_get_no_standard_descriptor(tmp_path: Path, closed: str) -> None:
    (tmp_path / "connects.py").write_text(CONNECTS)
    done = shell(f"{shlex.quote(sys.executable)} connects.py {closed}", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_command_runs_where_all_streams_are_closed(tmp_path: Path) -> None:
    assert shell(f"{COMMAND} <&- >&- 2>&-", tmp_path).returncode == 0


def test_a_command_says_in_a_line_that_its_output_is_lost(tmp_path: Path, full: str) -> None:
    for command in (COMMAND, f"{ARENA} tournament --help"):
        done = shell(f"{command} > {full}", tmp_path)
        assert (done.returncode, done.stderr) == (
            1,
            "arena: standard output can't be written: No space left on device\n",
        )


def test_what_standard_error_does_not_take_is_lost(tmp_path: Path, full: str) -> None:
    done = shell(f"{ARENA} config --port x 2> {full}", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_reader_that_goes_ends_a_command_without_a_word(tmp_path: Path) -> None:
    # The reader is gone before anything is written: the writer waits until its end of the pipe says so.
    done = shell(f"exec 3> >(exec 0<&-; exit); wait $!; {ARENA} serve --help >&3; echo $?", tmp_path)
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.parametrize("to", ["<&- > FULL", "2>&-", "2> FULL"])
def test_a_bot_is_told_what_is_wrong_and_fails_for_no_stream(tmp_path: Path, full: str, to: str) -> None:
    (tmp_path / "mine.py").write_text(BOT)
    done = shell(f"{shlex.quote(sys.executable)} mine.py --slots 0 {to.replace('FULL', full)}", tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == (0 if to.startswith("2>") else 1)
    (tmp_path / "none.py").write_text('from bots import Bot\nBot("mine")\n')
    done = shell(f"{shlex.quote(sys.executable)} none.py {to.replace('FULL', full)}", tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("ascii", r"mean \xb1 3 sigma"), ("utf-16", "\0".join("3 sigma")), ("idna", "mean ± 3 sigma")],
)
def test_every_encoding_takes_what_programs_print(tmp_path: Path, encoding: str, shown: str) -> None:
    (tmp_path / "prints.py").write_text(PRINTS, "utf-8")
    done = shell(f"{shlex.quote(sys.executable)} prints.py", tmp_path, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, "")
    assert shown in done.stdout


def test_a_command_runs_where_an_encoding_lacks_even_ends_of_lines(tmp_path: Path) -> None:
    done = shell(COMMAND, tmp_path, PYTHONIOENCODING="idna")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("15 games")


def test_each_text_encoding_of_python_can_be_written_to() -> None:
    for name in sorted(set(encodings.aliases.aliases.values())):
        encoding = name if _can_write(name) else "utf-8"
        written = io.BytesIO()
        stream = io.TextIOWrapper(written, encoding=encoding, errors=ENCODING_ERRORS)
        stream.write(f"{TEXT}\n")
        stream.flush()
        read = written.getvalue().decode(encoding).replace("\N{YEN SIGN}", "\\")  # one byte in Japanese encodings
        assert ESCAPE.sub(lambda found: chr(int(found[found.lastindex or 0], 16)), read) == f"{TEXT}\n", encoding
