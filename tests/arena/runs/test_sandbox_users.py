"""The users that bots run as in a sandbox: each tournament has its own, and nothing of theirs stays."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.runs import sandbox_users
from arena.runs.sandbox_users import reserved_users
from protocol.errors import ArenaFault

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs programs as other users")


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    return tmp_path / "locks"


@pytest.fixture(autouse=True)
def own_users(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A test reserves users of twenty that nobody else on this machine has meanwhile."""
    with reserved_users(20) as users:
        monkeypatch.setattr(sandbox_users, "USER_IDS", users)
        yield


def test_two_tournaments_at_the_same_time_have_no_user_in_common(locks: Path) -> None:
    with reserved_users(3, locks) as ours:
        with reserved_users(3, locks) as theirs:
            assert len({*ours, *theirs}) == 6
        with reserved_users(3, locks) as again:
            assert again == theirs
    assert sorted(map(int, os.listdir(locks))) == sorted({*ours, *theirs})


def test_a_user_with_a_process_is_not_drawn(locks: Path) -> None:
    with reserved_users(1, locks) as (user,):
        pass
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, user=user, group=user, extra_groups=[])
    with process, reserved_users(1, locks) as (other,):
        assert other != user


def test_more_users_than_there_are_are_refused(locks: Path) -> None:
    says = "18 bots in sandboxes want a user each: 17 are free on this machine"
    with reserved_users(3, locks), pytest.raises(ArenaFault, match=says), reserved_users(18, locks):
        pass


@pytest.mark.parametrize("kind", ["link", "open", "file"])
def test_locks_are_in_no_folder_of_others(locks: Path, kind: str) -> None:
    if kind == "link":
        locks.symlink_to(locks.parent)
    elif kind == "open":
        locks.mkdir()
        locks.chmod(0o777)
    else:
        locks.touch()
    with pytest.raises(ArenaFault, match=f"the locks of sandboxes can't be in {locks}: "), reserved_users(1, locks):
        pass


def test_a_lock_follows_no_link(locks: Path, tmp_path: Path) -> None:
    with reserved_users(1, locks) as (user,):
        pass
    (locks / str(user)).unlink()
    (locks / str(user)).symlink_to(tmp_path / "elsewhere")
    says = f"the lock of a sandbox's user {user} can't be made"
    with pytest.raises(ArenaFault, match=says), reserved_users(1, locks):
        pass
    assert not (tmp_path / "elsewhere").exists()


LEAVES = """
umask 0
mkdir /tmp/$1 /tmp/$2/$1
: > /tmp/$1/file; : > /tmp/$2/file; : > /var/tmp/$1; : > /dev/shm/$1; ln -s /etc /tmp/$1.link
mkdir -p /tmp/$1/$(printf 'd/%.0s' $(seq 1200))
ipcmk -M 1 -Q -S 1
"""


def objects_of(user: int) -> list[str]:
    """The lines of the kernel's tables of shared memory, queues and semaphores that name a user."""
    tables = [Path("/proc/sysvipc", kind).read_text().splitlines() for kind in ("shm", "msg", "sem")]
    return [line for table in tables for line in table if str(user) in line.split()]


def test_what_a_user_left_is_removed_and_nothing_of_others(locks: Path) -> None:
    name = f"left-{uuid.uuid4()}"
    public = Path("/tmp", f"public-{name}")
    public.mkdir()
    public.chmod(0o777)
    try:
        (public / "ours").touch()
        with reserved_users(1, locks) as (user,):
            command = ["sh", "-ec", LEAVES, "sh", name, public.name]
            subprocess.run(command, user=user, group=user, extra_groups=[], check=True, stdout=subprocess.DEVNULL)
            assert len(objects_of(user)) == 3
        assert [path for place in ("/tmp", "/var/tmp", "/dev/shm") for path in Path(place).glob(f"{name}*")] == []
        assert [path.name for path in public.iterdir()] == ["ours"]
        assert objects_of(user) == []
        assert Path("/etc/passwd").exists()
    finally:
        (public / "ours").unlink()
        public.rmdir()
