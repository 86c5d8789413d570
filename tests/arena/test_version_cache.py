"""What a build in a box leaves is a stranger's: nothing in it leads out of the folder, or takes more than its share."""

from __future__ import annotations

import os
import tarfile
import time
from io import BytesIO
from pathlib import Path

import pytest

from arena.hosting.limits import SubmissionLimits
from arena.hosting.submission import read_source_file
from arena.runner import unpack, version_cache
from arena.runner.box import Boxes
from arena.runner.unpack import BuildFailed, unpack_tar
from arena.runner.version_cache import VersionCache, _unpack

SOURCE = read_source_file("mine.sh", b"echo", ["nim"], ["nim"], SubmissionLimits())


def tarred(*members: tuple[str, bytes], kind: bytes = tarfile.REGTYPE) -> bytes:
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.type, member.size, member.linkname = kind, len(content), "/etc/passwd"
            archive.addfile(member, BytesIO(content))
    return packed.getvalue()


def test_ordinary_files_are_kept_and_nothing_else() -> None:
    assert unpack_tar(tarred(("./bot", b"1"), ("a/b", b"2"), ("../out", b"3"), ("/abs", b"4"), ("a/../c", b"5"))) == {
        "bot": b"1",
        "a/b": b"2",
    }
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
        assert unpack_tar(tarred(("odd", b""), kind=kind)) == {}


def test_a_sparse_file_is_left_out_whatever_size_it_claims() -> None:
    header = tarfile.TarInfo("zeros")
    header.size, header.pax_headers = (
        0,
        {"GNU.sparse.major": "0", "GNU.sparse.size": str(2**40), "GNU.sparse.map": "0,0"},
    )
    assert unpack_tar(header.tobuf(tarfile.PAX_FORMAT) + bytes(1024)) == {}


def test_too_many_files_or_folders_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BuildFailed, match="or 32 folders in one another"):
        unpack_tar(tarred(("/".join(["a"] * 33), b"")))
    monkeypatch.setattr(unpack, "MAX_BUILT_FILES", 2)
    for kind in (tarfile.REGTYPE, tarfile.DIRTYPE):
        with pytest.raises(BuildFailed, match="more than 67108864 bytes, 2 files or"):
            unpack_tar(tarred(("a", b""), ("b", b""), ("c", b""), kind=kind))


async def test_a_tar_whose_headers_take_too_much_memory_ends_its_process_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version_cache, "MAX_UNPACK_MEMORY_BYTES", 64 * 1024 * 1024)
    with pytest.raises(BuildFailed, match="takes too much to unpack"):
        await _unpack(tarred(("bot", bytes(60 * 1024 * 1024))), tmp_path / "program")
    assert not (tmp_path / "program").exists()


async def test_what_a_build_left_is_unpacked_for_every_user(tmp_path: Path) -> None:
    await _unpack(tarred(("bot", b"1")), tmp_path / "program")
    assert oct((tmp_path / "program" / "bot").stat().st_mode)[-3:] == "755"
    with pytest.raises(BuildFailed, match="can't be read"):
        await _unpack(b"no tar" * 200, tmp_path / "other")


async def test_a_version_that_plays_is_never_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version_cache, "MAX_VERSIONS", 1)
    sources = {
        source.digest: source
        for source in (
            read_source_file("a.sh", text, ["nim"], ["nim"], SubmissionLimits()) for text in (b"1", b"2", b"3")
        )
    }

    async def read(digest: str) -> bytes:
        return sources[digest].pack()

    cache = VersionCache(tmp_path, Boxes(memory_mib=64), read)
    playing, *others = sources
    with cache.using(playing):
        for digest in (playing, *others):
            await cache.get(digest, 0)
    assert set(os.listdir(tmp_path)) == {playing, others[-1]}


async def test_a_version_that_nothing_has_used_for_a_week_is_removed(tmp_path: Path) -> None:
    async def read(digest: str) -> bytes:
        return SOURCE.pack()

    cache = VersionCache(tmp_path, Boxes(memory_mib=64), read)
    await cache.get(SOURCE.digest, 0)
    VersionCache(tmp_path, Boxes(memory_mib=64), read)
    assert os.listdir(tmp_path) == [SOURCE.digest]
    eight_days_ago = time.time() - 8 * 86_400
    os.utime(tmp_path / SOURCE.digest, (eight_days_ago, eight_days_ago))
    VersionCache(tmp_path, Boxes(memory_mib=64), read)
    assert os.listdir(tmp_path) == []


def test_what_is_no_tar_is_refused() -> None:
    with pytest.raises(BuildFailed, match="can't be read"):
        unpack_tar(b"no tar" * 200)


async def test_a_version_is_fetched_once_and_only_if_it_has_its_digest(tmp_path: Path) -> None:
    asked = []

    async def read(digest: str) -> bytes:
        asked.append(digest)
        return SOURCE.pack()

    for _ in range(2):  # the second is a restart of the runner
        cache = VersionCache(tmp_path / "versions", Boxes(memory_mib=64), read)
        program = await cache.get(SOURCE.digest, 0)
        assert program.manifest == SOURCE.manifest
        assert (program.folder / "mine.sh").read_bytes() == b"echo"
        assert oct((program.folder / "mine.sh").stat().st_mode)[-3:] == "755"
    assert asked == [SOURCE.digest]
    with pytest.raises(BuildFailed, match="no longer what its author handed in"):
        await cache.get("0" * 64, 0)
    assert [path.name for path in (tmp_path / "versions").iterdir()] == [SOURCE.digest], "nothing half-unpacked is left"
