"""Who can read what an arena keeps: its owner, and nobody else on the machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from arena.store.data_folder import is_held, lock, restrict_to_owner
from commands import call, faulty
from in_process import call_beside, hosting
from protocol.errors import ArenaFault
from tournaments import played

pytestmark = pytest.mark.usefixtures("uncopied_databases")


@pytest.fixture(autouse=True)
def _careless() -> Iterator[None]:
    """What is made is open to all, unless somebody takes care."""
    before = os.umask(0)
    yield
    os.umask(before)


def opened(folder: Path) -> dict[str, int]:
    modes = {str(path): stat.S_IMODE(path.stat().st_mode) & 0o077 for path in (folder, *folder.rglob("*"))}
    return {path: mode for path, mode in modes.items() if mode}


async def test_what_a_server_makes_is_its_owners_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with hosting(data):
        assert (data / "journal").is_dir()
        assert opened(data) == {}


def test_what_a_tournament_makes_is_its_owners_alone_and_its_report_as_other_files(tmp_path: Path) -> None:
    data = tmp_path / "data"
    words = ["random", faulty("steady"), "--game", "nim", "--data", str(data), "--json", str(tmp_path / "out.json")]
    done = played("arena", "tournament", *words)
    assert done.code == 0, done.err
    assert list(data.glob("tournaments/*/steady.log")) != []
    assert opened(data) == {}
    assert stat.S_IMODE((tmp_path / "out.json").stat().st_mode) == 0o666


def test_what_a_command_makes_is_its_owners_alone(tmp_path: Path) -> None:
    assert call("arena", "bot", "add", "mine", "--data", str(tmp_path / "data")).code == 0
    assert opened(tmp_path / "data") == {}


async def test_a_folder_that_was_open_is_closed_which_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    assert (await call_beside("arena", "bot", "add", "mine", "--data", str(data))).code == 0
    data.chmod(0o755)
    (data / "arena.db").chmod(0o640)
    async with hosting(data):
        assert opened(data) == {}
    says = "arena: other users could read these until now; now only you can"
    assert f"{says}: {data / 'arena.db'}, {data}\n" in capsys.readouterr().err
    async with hosting(data):
        assert says not in capsys.readouterr().err


def test_a_folder_with_other_things_in_it_stays_open_and_what_is_the_arenas_does_not(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "diary").touch(0o644)
    (tmp_path / "journal").mkdir(0o755)
    (tmp_path / "arena.db").touch(0o666)
    assert restrict_to_owner(tmp_path, tmp_path / "arena.db") == [tmp_path / "arena.db", tmp_path / "journal"]
    assert opened(tmp_path) == {str(tmp_path): 0o055, str(tmp_path / "diary"): 0o044}
    assert restrict_to_owner(tmp_path, tmp_path / "arena.db") == []


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    data.mkdir()
    elsewhere.write_text("dear diary")
    (data / "lock").symlink_to(elsewhere)
    done = call("arena", "tournament", "random", "perfect", "--game", "nim", "--data", str(data))
    says = f"arena: the data folder {data} can't be used: {data / 'lock'} is a link: remove it\n"
    assert done == (1, "", says)
    assert elsewhere.read_text() == "dear diary"


@contextmanager
def folder_of(owner: int, *, seen_by: int) -> Iterator[Path]:
    """A folder that anyone may write to, looked at as another user."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        os.chown(folder, owner, -1)
        os.seteuid(seen_by)
        try:
            yield folder
        finally:
            os.seteuid(0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_a_data_folder_of_another_user_is_refused() -> None:
    says = "belongs to user 61183, who could change all in it: name a folder of your own with --data"
    with folder_of(61_183, seen_by=61_182) as folder:
        with pytest.raises(ArenaFault, match=f"^the data folder {folder} {says}$"), lock(folder):
            pass
        assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize(("owner", "user"), [(0, 61_182), (61_182, 61_182), (61_182, 0)])
def test_a_data_folder_is_ones_own_or_roots_or_whoevers_where_one_is_root(owner: int, user: int) -> None:
    with folder_of(owner, seen_by=user) as folder, lock(folder):
        assert is_held(folder)
