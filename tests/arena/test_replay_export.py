"""`arena replay export`: the file that it writes is whole and what its name says, or there is none."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from commands import call
from machine.atomic_write import write_new_file
from referee.record_reader import read_record, unpack

RECORD = (Path(__file__).parents[1] / "golden" / "nim-classic.jsonl").read_bytes()


@contextmanager
def files_limited_to(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def exported(folder: Path, content: bytes, name: str) -> Path:
    """The file of this name that is exported from a file with this content."""
    (folder / "theirs.jsonl").write_bytes(content)
    done = call("arena", "replay", "export", str(folder / "theirs.jsonl"), "--to", str(folder / name))
    assert done.code == 0, done.err
    return folder / name


def test_a_record_in_a_file_of_text_is_packed_if_the_new_files_name_says_so(tmp_path: Path) -> None:
    packed = exported(tmp_path, RECORD, "m.jsonl.gz").read_bytes()
    assert packed != RECORD
    assert unpack(packed, "m") == RECORD
    assert exported(tmp_path, packed, "again.jsonl.gz").read_bytes() == packed
    assert read_record(exported(tmp_path, packed, "m.jsonl").read_bytes(), "m") == read_record(RECORD, "m")


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".json", ".html"])
@pytest.mark.parametrize("content", [RECORD[:-9], b"no record\n", b""], ids=["cut", "other", "empty"])
def test_what_is_no_record_is_not_exported(tmp_path: Path, content: bytes, suffix: str) -> None:
    theirs, to = tmp_path / "theirs.jsonl", tmp_path / f"m{suffix}"
    theirs.write_bytes(content)
    done = call("arena", "replay", "export", str(theirs), "--to", str(to))
    assert (done.code, done.err.count("\n"), str(theirs) in done.err) == (1, 1, True)
    assert not to.exists()


def test_a_new_file_that_cannot_be_written_whole_is_not_left_behind(tmp_path: Path) -> None:
    with files_limited_to(1000), pytest.raises(OSError, match="too large"):
        write_new_file(tmp_path / "m", bytes(5000))
    assert not list(tmp_path.iterdir())


def test_a_file_that_exists_is_not_written_anew(tmp_path: Path) -> None:
    write_new_file(tmp_path / "m", b"mine")
    with pytest.raises(FileExistsError):
        write_new_file(tmp_path / "m", b"another")
    assert (tmp_path / "m").read_bytes() == b"mine"
