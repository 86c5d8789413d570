"""Zips and tars of strangers that attack the arena: they are refused in one line, or leave nothing outside a folder."""

from __future__ import annotations

import io
import os
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.hosting.submission import SubmissionLimits, read_submission
from arena.runner.unpack import MAX_BUILT_BYTES, MAX_BUILT_FILES, BuildFailed, unpack_tar, write_files
from protocol.errors import UsageFault

LIMITS = SubmissionLimits(packed_bytes=200_000, unpacked_bytes=100_000, files=20)
MANIFEST = b'language = "python"\ngames = ["nim"]\nfile = "mine.py"\n'
LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"


def zipped(*files: tuple[str, bytes], manifest: bytes = MANIFEST, mode: int = 0) -> bytes:
    """A zip of a program with these files too, each of them with this mode."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bot.toml", manifest)
        archive.writestr("mine.py", b"print()")
        for name, content in files:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return packed.getvalue()


def changed(data: bytes, old: bytes, new: bytes, last: bool = False) -> bytes:
    at = data.rindex(old) if last else data.index(old)
    return data[:at] + new + data[at + len(old) :]


def overlapping() -> bytes:
    """A zip whose 19 entries all unpack the same bytes, so that it unpacks to many times its size."""
    first = zipped(("kernel", b"\0" * 9000))
    end = first.index(CENTRAL)
    entries = [first[at:] for at in range(end, len(first)) if first[at:].startswith(CENTRAL)]
    kernel = entries[2][: entries[2].index(END)]
    central = first[end : first.index(END)] + b"".join(
        kernel.replace(b"kernel", b"kerne%c" % (65 + number)) for number in range(16)
    )
    count = 3 + 16
    return first[:end] + central + struct.pack("<4sHHHHIIH", END, 0, 0, count, count, len(central), end, 0)


def zip64_of_a_petabyte() -> bytes:
    """A zip in which a file says that it has a petabyte, by an extra field for large files."""
    data = zipped(("large", b"x"))
    at = data.rindex(CENTRAL)
    header = bytearray(data[at : data.index(END, at)])
    struct.pack_into("<II", header, 20, 0xFFFFFFFF, 0xFFFFFFFF)
    extra = struct.pack("<HHQQ", 1, 16, 1 << 50, 1 << 50)
    struct.pack_into("<H", header, 30, len(extra))
    header += extra
    tail = bytearray(data[data.index(END, at) :])
    (size,) = struct.unpack_from("<I", tail, 12)
    struct.pack_into("<I", tail, 12, size + len(extra))
    return data[:at] + bytes(header) + bytes(tail)


def many_entries_by_the_header() -> bytes:
    """A zip that says that it has 65,535 entries."""
    data = bytearray(zipped())
    struct.pack_into("<HH", data, data.rindex(END) + 8, 65_535, 65_535)
    return bytes(data)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: zipped(("link", b"/etc/passwd"), mode=stat.S_IFLNK | 0o777), "in the zip is a link"),
        (lambda: zipped(("link/", b"/etc"), mode=stat.S_IFLNK | 0o777), "has a part like .. or an empty one"),
        (lambda: zipped(("disk", b""), mode=stat.S_IFBLK | 0o666), "is no ordinary file"),
        (lambda: zipped(("socket", b""), mode=stat.S_IFSOCK | 0o666), "is no ordinary file"),
        (lambda: zipped(("folder", b"x"), mode=stat.S_IFDIR | 0o777), "is no ordinary file"),
        (lambda: zipped(("../../etc/cron.d/mine", b"")), "has a part like .. or an empty one"),
        (lambda: zipped(("..", b"x")), "has a part like .. or an empty one"),
        (lambda: zipped((".", b"x")), "has a part like .. or an empty one"),
        (lambda: zipped(("a/./b", b"x")), "has a part like .. or an empty one"),
        (lambda: zipped(("//server/share", b"x")), "is not relative to the folder"),
        (lambda: zipped(("..\\..\\out", b"x")), "is not relative to the folder"),
        (lambda: zipped(("c:\\windows\\out", b"x")), "is not relative to the folder"),
        (lambda: zipped(("mine.py:stream", b"x")), "is not relative to the folder"),
        (lambda: zipped(("mine.py\u202egnp.", b"x")), "has characters that not every system shows"),
        (lambda: zipped(("\x1b[2J", b"x")), "has characters that not every system shows"),
        (lambda: zipped(("a/" * 150 + "b", b"x")), "has more than 200 bytes"),
        (lambda: zipped(("MINE.PY", b"x")), "have one name"),
        (lambda: zipped(("BOT.TOML", b"x")), "have one name"),
        (lambda: zipped(("bot.toml/x", b"x")), "is a file and a folder"),
        (lambda: zipped(*((f"f{number}", b"") for number in range(19))), "the zip has 21 files: 20 at most"),
        (lambda: zipped(("zeros", b"\0" * 10_000_000)), "have more than 100000 bytes unpacked"),
        (lambda: zipped(*((f"{n}", b"\0" * 9000) for n in range(12))), "have more than 100000 bytes unpacked"),
        (overlapping, "this is not a sound zip: File name in directory"),
        (lambda: os.urandom(5000), "this is not a sound zip"),
        (lambda: b"", "this is not a sound zip"),
        (lambda: END + b"\0" * 18, "there is no bot.toml"),
        (lambda: changed(zipped(("x", b"x")), LOCAL, b"PK\x03\x05", last=True), "this is not a sound zip"),
        (lambda: changed(zipped(("abc", b"x")), b"abc", b"../"), "this is not a sound zip"),
        (lambda: zipped(manifest=b"games = " + b"[" * 8000), "bot.toml is not TOML"),
        (lambda: zipped(manifest=b"a = 1" + b"0" * 9000), "bot.toml is not TOML"),
        (lambda: zipped(manifest=MANIFEST + b"# " + b"x" * 17_000), "at most 16384"),
        (lambda: zipped(manifest=MANIFEST + b'command = ["../../bin/sh\\u0000"]'), "printable characters"),
        (lambda: zipped(manifest=MANIFEST + b'build = ["' + b"x" * 300 + b'"]'), "1 to 256 printable characters"),
        (lambda: zipped(manifest=MANIFEST + b"build = [" + b'"x",' * 40 + b"]"), "build has 40 words: 1 to 32"),
        (lambda: zipped(manifest=MANIFEST + b"memory = 99999"), "there is no field 'memory'"),
        (lambda: zipped(manifest=MANIFEST.replace(b"mine.py", b"/etc/passwd")), "which was not handed in"),
    ],
)
def test_a_zip_that_attacks_is_refused_in_one_line(make: Callable[[], bytes], why: str) -> None:
    with pytest.raises(UsageFault) as fault:
        read_submission(make(), ["nim"], LIMITS)
    assert why in str(fault.value)
    assert str(fault.value).isprintable()
    assert len(str(fault.value)) < 400


def test_a_size_that_a_zip_only_claims_is_not_believed() -> None:
    try:
        outcome = str(read_submission(zip64_of_a_petabyte(), ["nim"], LIMITS).files["large"])
    except UsageFault as fault:  # later releases of Python see that the file would reach into the next one
        outcome = str(fault)
    assert outcome.startswith(("b'x'", "this is not a sound zip: Overlapped entries: 'large'"))


def test_an_archive_in_an_archive_stays_a_file_and_rights_in_a_zip_are_not_kept(tmp_path: Path) -> None:
    found = read_submission(zipped(("inner.zip", zipped()), ("run", b"#!/bin/sh\n"), mode=0o106777), ["nim"], LIMITS)
    write_files(tmp_path / "program", found.files)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["bot.toml", "inner.zip", "mine.py", "program", "run"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")} == {0o755}


def test_what_stands_before_and_behind_a_zip_is_not_read() -> None:
    found = read_submission(b"#!/bin/sh\nexit\n" + zipped(), ["nim"], LIMITS)
    assert set(found.files) == {"bot.toml", "mine.py"}


# What a build has left


def tarred(*members: tarfile.TarInfo, content: bytes = b"") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for member in members:
            member.size = len(content) if member.isreg() else 0
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, target, 0o6777
    return info


@pytest.mark.parametrize(
    "odd",
    [
        member("link", tarfile.SYMTYPE, "/etc/shadow"),
        member("hard", tarfile.LNKTYPE, "../../secret"),
        member("disk", tarfile.BLKTYPE),
        member("tty", tarfile.CHRTYPE),
        member("pipe", tarfile.FIFOTYPE),
        member("../out"),
        member("/etc/out"),
        member("a/../../out"),
    ],
    ids=lambda one: one.name,
)
def test_of_a_build_only_ordinary_files_inside_its_folder_are_kept(tmp_path: Path, odd: tarfile.TarInfo) -> None:
    files = unpack_tar(tarred(odd, member("bot"), content=b"x"))
    assert files == {"bot": b"x"}
    write_files(tmp_path / "program", files)
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "program", tmp_path / "program" / "bot"]
    assert stat.S_IMODE((tmp_path / "program" / "bot").stat().st_mode) == 0o755


def test_a_file_over_a_link_of_the_same_tar_does_not_follow_it(tmp_path: Path) -> None:
    link, file = member("d", tarfile.SYMTYPE, str(tmp_path)), member("d/out")
    files = unpack_tar(tarred(link, file, content=b"x"))
    write_files(tmp_path / "program", files)
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "program" / "d" / "out").read_bytes() == b"x"


@pytest.mark.parametrize(
    "make",
    [
        lambda: tarred(*(member(f"{number}") for number in range(MAX_BUILT_FILES + 1))),
        lambda: tarred(member("a/" * 40 + "b")),
        lambda: tarred(member("a"), content=b"\0" * (MAX_BUILT_BYTES + 1)),
        lambda: b"\xff" * 10_240,
    ],
    ids=["many", "deep", "large", "no tar"],
)
def test_a_build_that_leaves_too_much_or_no_tar_has_failed(make: Callable[[], bytes]) -> None:
    with pytest.raises(BuildFailed) as fault:
        unpack_tar(make())
    assert str(fault.value).isprintable()


def test_a_tar_in_which_a_file_and_a_folder_have_one_name_is_an_error_of_one_line(tmp_path: Path) -> None:
    files = unpack_tar(tarred(member("a"), member("a/b"), content=b"x"))
    with pytest.raises(OSError, match="exists"):
        write_files(tmp_path / "program", files)
    assert set(os.listdir(tmp_path)) == {"program"}
