"""The files that hosted bots keep between matches: in the manifest, in a tar, in the store and on a runner."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.hosting.kept_files import pack_kept_files, read_kept_files
from arena.hosting.manifest import Manifest, read_manifest
from arena.operator.bot_files import ReadState, StatePart, StoreState, UploadFilePart
from arena.operator.client import NoServerAnswer
from arena.operator.hosting import RunBot
from arena.runner.hand_in import folder_of_version
from arena.runner.kept_state import KeptStates, kept_files_of
from arena.store import bot_states
from arena.store.bot_states import read_state, read_whole_state, store_state
from arena.store.bot_versions import add_version
from arena.store.dialect import execute
from arena.store.registry import anonymize_bot, register_bot
from arena.store.store import Store
from databases import EVERY_DATABASE
from protocol.errors import ArenaFault, UsageFault
from protocol.match_logs import STATE_FILE

FILES = {"opinions.json": b"{}", "table.bin": bytes(range(256)) * 5}
MANIFEST = 'games = ["nim"]\ncommand = ["./bot"]\n'


def manifest(more: str) -> Manifest:
    return read_manifest({"bot.toml": f"{MANIFEST}{more}\n".encode()}, ["nim"])


def test_a_manifest_names_the_files_that_a_program_keeps() -> None:
    assert (manifest("").keep, manifest("").keep_over_versions) == ((), False)
    kept = manifest('keep = ["opinions.json", "b.bin", "b.bin"]\nkeep_over_versions = true')
    assert (kept.keep, kept.keep_over_versions) == (("opinions.json", "b.bin"), True)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ('keep = ["data/a.json"]', "keep has 'data/a.json': write a name without a folder"),
        ('keep = ["-rf"]', "keep has '-rf'"),
        ('keep = ["a\\\\nb"]', "keep has 'a"),
        (f"keep = {[str(number) for number in range(17)]}", "keep has 17 files: 16 at most"),
        ("keep_over_versions = true", "keep_over_versions needs files to keep"),
        ('keep = "a"', "keep"),
    ],
)
def test_a_manifest_with_other_names_is_refused_in_one_line(more: str, why: str) -> None:
    with pytest.raises(UsageFault, match=r"^bot\.toml: ") as refused:
        manifest(more)
    assert why in str(refused.value)


def test_a_tar_has_the_files_and_nothing_else_of_what_a_program_left() -> None:
    assert read_kept_files(pack_kept_files(FILES), list(FILES)) == FILES
    left = io.BytesIO()
    with tarfile.open(fileobj=left, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, kind, target in (
            ("table.bin", tarfile.SYMTYPE, "/etc/passwd"),
            ("device", tarfile.CHRTYPE, ""),
            ("../opinions.json", tarfile.REGTYPE, ""),
            ("folder", tarfile.DIRTYPE, ""),
            ("x" * 300, tarfile.REGTYPE, ""),
        ):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, target
            archive.addfile(entry)
        entry = tarfile.TarInfo("opinions.json")
        entry.size = 3
        archive.addfile(entry, io.BytesIO(b"abc"))
    assert read_kept_files(left.getvalue(), list(FILES)) == {"opinions.json": b"abc"}
    assert read_kept_files(b"", list(FILES)) == {}


@pytest.mark.parametrize(
    ("tar", "why"),
    [
        (b"x" * 512, "are no tar"),
        (b"x" * 100, "are no tar"),
        (pack_kept_files({"table.bin": b"1" * 1000})[:900], "are cut off"),
        (pack_kept_files({"table.bin": b"1" * 1001}), "have more than 1000 bytes"),
    ],
    ids=["noise", "a part of a header", "a part", "too much"],
)
def test_what_is_no_tar_or_has_too_much_is_refused(tar: bytes, why: str) -> None:
    with pytest.raises(UsageFault, match=why):
        read_kept_files(tar, list(FILES), 1000)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "arena.db")
    store.write(register_bot, "Ann", "a" * 64)
    store.write(add_version, "ann", "1" * 64, b"zip", '{"games": ["nim"], "keep": ["a"]}')
    for digit in "23":
        declared = '{"games": ["nim"], "keep": ["a"], "keep_over_versions": true}'
        store.write(add_version, "ann", digit * 64, b"zip", declared)
    yield store
    store.close()


@EVERY_DATABASE
def test_a_version_keeps_its_own_files_unless_versions_carry_them_over(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bot_states, "READ_CHUNK_BYTES", 4)

    def kept(number: int) -> bytes:
        return store.read(read_whole_state, "ANN", number)

    def keep(bot: str, number: int, digit: str, content: bytes) -> None:
        store.write(store_state, bot, number, digit * 64, content)

    keep("ann", 1, "1", b"of the first")
    keep("ann", 2, "2", b"old")
    keep("ann", 2, "2", b"carried over")
    keep("ann", 1, "2", b"of an earlier owner's version")
    keep("ann", 9, "9", b"of no version")
    keep("bob", 1, "1", b"of no bot")
    assert [kept(number) for number in (1, 2, 3, 9)] == [b"of the first", b"carried over", b"carried over", b""]
    assert store.read(read_state, "ann", 1, 8) == b"irst"
    assert store.read(read_whole_state, "bob", 1) == b""
    assert states_of(store) == [0, 1]
    store.write(lambda connection: execute(connection, "DELETE FROM bot_versions WHERE number = 1"))
    keep("ann", 2, "2", b"later")
    assert states_of(store) == [0], "those of a version that is gone are gone too"
    store.write(anonymize_bot, "ann")
    assert states_of(store) == []


def states_of(store: Store) -> list[int]:
    query = "SELECT number FROM bot_states ORDER BY number"
    return [row.number for row in store.read(lambda connection: execute(connection, query).all())]


class Arena:
    """An arena that keeps one tar."""

    def __init__(self) -> None:
        self.tar = b""
        self.is_away = False
        self.fault: ArenaFault | None = None
        self._uploads: dict[str, bytes] = {}

    async def ask(self, request: Any, kind: type[Any]) -> Any:
        if self.is_away:
            raise NoServerAnswer("the connection was lost")
        match request:
            case ReadState():
                return StatePart(data=self.tar[request.offset : request.offset + 700])
            case UploadFilePart():
                self._uploads[request.upload] = self._uploads.get(request.upload, b"") + request.data
            case StoreState():
                if self.fault is not None:
                    raise self.fault
                self.tar = self._uploads.pop(request.upload)
        return None


RUN = RunBot(bot="Ann", number=2, digest="1" * 64, ticket="t", kept_bytes=5000)
KEEPS = Manifest(games=("nim",), command=("./bot",), keep=tuple(FILES))


def leave(tar: Path, files: dict[str, bytes]) -> None:
    """Have a client replace the tar, at a later time."""
    before = tar.stat().st_mtime_ns
    tar.write_bytes(pack_kept_files(files))
    os.utime(tar, ns=(before + 1, before + 1))


async def test_a_runner_fetches_what_a_bot_keeps_and_hands_changes_in(tmp_path: Path) -> None:
    arena = Arena()
    arena.tar = pack_kept_files(FILES)
    states = KeptStates(tmp_path, arena.ask)
    await states.fetch(RUN, KEEPS)
    tar = folder_of_version(tmp_path, "Ann", 2) / STATE_FILE
    assert read_kept_files(tar.read_bytes(), list(FILES)) == FILES
    assert tar.stat().st_mode & 0o777 == 0o644
    arena.tar = b"of another"
    await states._hand_in_changed(tar)
    assert arena.tar == b"of another", "nothing has changed here"
    leave(tar, {"opinions.json": b"new", "secret": b"not kept"})
    arena.is_away = True
    await states._hand_in_changed(tar)
    arena.is_away = False
    await states._hand_in_changed(tar)
    assert read_kept_files(arena.tar, ["opinions.json", "secret"]) == {"opinions.json": b"new"}
    for size, handed_in in ((RUN.kept_bytes, True), (RUN.kept_bytes + 1, False)):
        leave(tar, {"opinions.json": b"1" * size})
        await states._hand_in_changed(tar)
        assert (len(read_kept_files(arena.tar, ["opinions.json"])["opinions.json"]) == size) == handed_in


async def test_a_change_that_was_not_handed_in_yet_is_there_when_the_bot_starts_again(tmp_path: Path) -> None:
    arena = Arena()
    states = KeptStates(tmp_path, arena.ask)
    await states.fetch(RUN, KEEPS)
    tar = folder_of_version(tmp_path, "Ann", 2) / STATE_FILE
    leave(tar, FILES)
    await states.fetch(RUN, KEEPS)
    assert read_kept_files(tar.read_bytes(), list(FILES)) == FILES


async def test_what_a_bot_keeps_waits_for_an_arena_that_can_not_store_it(tmp_path: Path) -> None:
    arena = Arena()
    states = KeptStates(tmp_path, arena.ask)
    await states.fetch(RUN, KEEPS)
    leave(folder_of_version(tmp_path, "Ann", 2) / STATE_FILE, FILES)
    arena.fault = ArenaFault("database or disk is full")
    assert await states.hand_in() is arena.fault
    with pytest.raises(ArenaFault, match="disk is full"):
        await states.fetch(RUN, KEEPS)
    arena.fault = None
    assert await states.hand_in() is None
    assert read_kept_files(arena.tar, list(FILES)) == FILES


async def test_what_an_earlier_connection_left_is_dropped(tmp_path: Path) -> None:
    kept = kept_files_of(KEEPS, folder_of_version(tmp_path, "Ann", 2))
    assert kept is not None
    assert kept.tar.exists()
    KeptStates(tmp_path, Arena().ask)
    assert not kept.tar.exists()


async def test_a_program_that_keeps_nothing_has_no_tar(tmp_path: Path) -> None:
    nothing = Manifest(games=("nim",), command=("./bot",))
    await KeptStates(tmp_path, Arena().ask).fetch(RUN, nothing)
    assert kept_files_of(nothing, tmp_path) is None
    assert not os.listdir(tmp_path)
