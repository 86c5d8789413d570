"""What a build in a box leaves is a stranger's: nothing in it leads out of the folder, or takes more than its share."""

from __future__ import annotations

import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from arena.hosting.submission import SubmissionLimits, read_source_file
from arena.runner import version_cache
from arena.runner.box import Boxes
from arena.runner.version_cache import BuildFailed, VersionCache, _unpack_tar
from protocol.errors import ArenaFault

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
    assert _unpack_tar(tarred(("./bot", b"1"), ("a/b", b"2"), ("../out", b"3"), ("/abs", b"4"), ("a/../c", b"5"))) == {
        "bot": b"1",
        "a/b": b"2",
    }
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
        assert _unpack_tar(tarred(("odd", b""), kind=kind)) == {}


def test_what_claims_to_be_larger_than_it_may_be_is_not_read_to_its_end() -> None:
    header = tarfile.TarInfo("zeros")
    header.size, header.pax_headers = (
        0,
        {"GNU.sparse.major": "0", "GNU.sparse.size": str(2**40), "GNU.sparse.map": "0,0"},
    )
    with pytest.raises(BuildFailed, match="has more than 67108864 bytes"):
        _unpack_tar(header.tobuf(tarfile.PAX_FORMAT) + bytes(1024))


def test_too_many_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version_cache, "MAX_BUILT_FILES", 2)
    with pytest.raises(BuildFailed, match="or 2 files"):
        _unpack_tar(tarred(("a", b""), ("b", b""), ("c", b"")))


def test_what_is_no_tar_is_refused() -> None:
    with pytest.raises(BuildFailed, match="can't be read"):
        _unpack_tar(b"no tar" * 200)


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
    with pytest.raises(ArenaFault, match="another submission"):
        await cache.get("0" * 64, 0)
    assert [path.name for path in (tmp_path / "versions").iterdir()] == [SOURCE.digest], "nothing half-unpacked is left"
