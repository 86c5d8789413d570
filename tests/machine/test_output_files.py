"""Options that name a file for what a command writes: what is no regular file stays what it is."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commands import REPOSITORY, call
from machine.atomic_write import replacing_file
from machine.output_file import is_stdout, why_not_writable, write_output
from tournaments import played

NIM = ("tournament", "random", "perfect", "--game", "nim", "--rounds", "2", "--seed", "1", "--in-process")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a tournament, for tests to copy."""
    folder = tmp_path_factory.mktemp("stored") / "data"
    assert played("arena", *NIM, "--data", str(folder)).code == 0
    return folder


def device(file: Path, minor: int) -> Path:
    """A node of our own of a device of memory: 3 is null, 7 is full."""
    try:
        os.mknod(file, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        file.write_bytes(b"")
    except PermissionError:
        pytest.skip("only root makes devices")
    return file


@pytest.fixture
def fifo(here: Path) -> Iterator[Path]:
    os.mkfifo(here / "fifo")
    yield here / "fifo"
    assert (here / "fifo").is_fifo()


def test_results_written_to_a_device_leave_the_device(here: Path) -> None:
    done = played("arena", *NIM, "--data", "data", "--json", str(device(here / "null", 3)))
    assert (done.code, stat.S_ISCHR((here / "null").stat().st_mode)) == (0, True)


def test_a_device_that_takes_nothing_is_told(here: Path) -> None:
    done = played("arena", *NIM, "--data", "data", "--json", str(device(here / "full", 7)))
    assert done.code == 1
    assert done.err.endswith(f"arena: {here}/full can't be written: No space left on device\n")
    assert stat.S_ISCHR((here / "full").stat().st_mode)


def test_results_go_into_a_pipe(fifo: Path) -> None:
    with ThreadPoolExecutor(1) as beside:
        read = beside.submit(fifo.read_bytes)
        write_output(fifo, b"{}" * 100_000)
        assert read.result() == b"{}" * 100_000


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "link"])
def test_results_on_standard_output_are_alone_there(here: Path, name: str) -> None:
    (here / "link").symlink_to("/dev/stdout")
    done = played("arena", *NIM, "--data", "data", "--json", name)
    assert len(json.loads(done.out)["matches"]) == 2
    assert "round-robin, 2 matches" in done.err
    assert not (here / "-").exists()


def test_a_test_prints_its_document_alone_on_standard_output(here: Path) -> None:
    words = ("test", "perfect", "random", "--game", "nim", "--seed", "1", "--in-process", "--pairs", "2")
    done = played("arena", *words, "--data", "data", "--json", "-")
    assert json.loads(done.out)["seed"] == "1"
    assert "2 pairs" in done.err


def test_standard_output_that_is_a_file_keeps_all_that_is_written_to_it(here: Path) -> None:
    code = (
        "from pathlib import Path; from machine.output_file import write_output; print('before', flush=True);"
        "write_output(Path('/dev/stdout'), b'{}\\n'); print('after')"
    )
    with (here / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True, env={"PYTHONPATH": str(REPOSITORY)})
    assert (here / "out").read_text() == "before\n{}\nafter\n"


def test_a_descriptor_that_the_shell_names_is_written_into(here: Path) -> None:
    reads, writes = os.pipe()
    with open(reads, "rb") as file:
        write_output(Path(f"/dev/fd/{writes}"), b"{}")
        os.close(writes)
        assert file.read() == b"{}"
    assert is_stdout(Path("/proc/self/fd/1"))
    assert not is_stdout(Path("/dev/fd/2"))


def test_a_link_is_followed_to_the_file_that_is_replaced(here: Path) -> None:
    (here / "link").symlink_to("folder/file")
    (here / "folder").mkdir()
    for data in (b"first", b"second"):
        assert why_not_writable(here / "link") is None
        write_output(here / "link", data)
        assert (here / "folder/file").read_bytes() == data
    assert (here / "link").is_symlink()


def test_nothing_takes_the_place_of_what_is_no_file(fifo: Path) -> None:
    with pytest.raises(OSError, match="it is a pipe, a device or a socket"), replacing_file(fifo):
        pass
    assert [each.name for each in fifo.parent.iterdir()] == ["fifo"]


def test_a_disk_is_not_written_over(here: Path) -> None:
    try:
        os.mknod(here / "disk", 0o600 | stat.S_IFBLK, os.makedev(7, 200))
    except PermissionError:
        pytest.skip("only root makes devices")
    done = call("arena", *NIM, "--data", "data", "--json", "disk")
    assert (done.code, done.err) == (2, "arena: --json disk can't be written: it is a disk or a socket: name a file\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("arena-bot tune risk-duel --out fifo.toml --resume", "--out fifo.toml can't be written: it is a pipe"),
        ("arena-bot tune risk-duel --plot fifo.svg", "--plot fifo.svg can't be written: it is a pipe"),
        ("arena db backup -", "a backup is a file or folder of its own, and - is standard output"),
        ("arena db backup fifo.toml", "fifo.toml can't be written: it is a pipe"),
        ("arena db upgrade --backup -", "--backup is a file or folder of its own"),
        ("arena bot add --from fifo.csv --tokens-to -", "--tokens-to is a file or folder of its own"),
        ("arena bot add anna --tokens-to fifo.svg", "fifo.svg can't be written: it is a pipe"),
        ("arena export --to -", "--to is a file or folder of its own"),
        ("arena export --to fifo.svg", "fifo.svg can't be written: it is a pipe"),
        ("arena doctor --log fifo.svg -- true", "--log fifo.svg can't be written: it is a pipe"),
        ("arena replay verify x --log http://localhost --head fifo.svg", "--head fifo.svg can't be written: it is a"),
        ("arena replay verify x --log http://localhost --head -", "--head is a file or folder of its own"),
    ],
)
def test_other_options_say_what_they_need(here: Path, stored: Path, words: str, said: str) -> None:
    shutil.copytree(stored, here / "arena-data")
    for name in ("fifo.toml", "fifo.svg"):
        os.mkfifo(here / name)
    done = call(*words.split())
    assert done.code in (1, 2)
    assert said in done.err
    assert all((here / name).is_fifo() for name in ("fifo.toml", "fifo.svg"))
    assert not (here / "-").exists()


def test_a_solved_hand_goes_to_standard_output(here: Path) -> None:
    done = call("arena-bot", "solve", "kuhn", "--rounds", "10", "--write", "-")
    assert json.loads(done.out)["game"] == "kuhn"
    assert "exploitability" in done.err
