"""The image that the Dockerfile makes, built and run by podman on a Debian that debootstrap made: no registry is asked.

Root alone can do that.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.markers import Marker

from commands import REPOSITORY
from programs import missing, program

BUILT_WITHIN = 600.0
IMAGE = "localhost/bot-arena"
_NEEDED = {
    "podman": "podman",
    "crun": "crun",
    "debootstrap": "debootstrap",
    "unshare": "util-linux",
    "nsenter": "util-linux",
}
_BASE = "localhost/debian"
_SUITE = "bookworm"
_PYTHON = "3.11"
_CONFIG = """[containers]
cgroups = "disabled"
default_ulimits = []
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "crun"
tmp_dir = "{folder}/tmp"
"""
_STORAGE = """[storage]
driver = "overlay"
graphroot = "{folder}/images"
runroot = "{folder}/run"
"""
_PLACE = """mount --make-rprivate /
if mountpoint -q /sys/fs/cgroup/unified; then umount --lazy /sys/fs/cgroup/unified; fi
echo ready
exec cat
"""
"""Mounts of our own, which go with the process; crun refuses the two kinds of control groups at once."""


class Engine:
    """Podman with images, containers and mounts of its own, all in a folder; they are gone when it is closed."""

    def __init__(self, folder: Path) -> None:
        for needed, package in _NEEDED.items():
            program(needed, package)
        if os.geteuid() != 0:
            missing("containers of its own have only root")
        self._folder = folder
        (folder / "containers.conf").write_text(_CONFIG.format(folder=folder))
        (folder / "storage.conf").write_text(_STORAGE.format(folder=folder))
        self._place = subprocess.Popen(
            ["unshare", "--mount", "sh", "-ec", _PLACE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._place.stdout is not None
        if self._place.stdout.readline() != "ready\n":
            self._place.communicate()
            missing("nothing may be mounted here")

    def command(self, *words: str) -> list[str]:
        """What has podman do something."""
        return ["nsenter", f"--mount=/proc/{self._place.pid}/ns/mnt", "podman", *words]

    @property
    def environ(self) -> dict[str, str]:
        ours = {"CONTAINERS_CONF": "containers.conf", "CONTAINERS_STORAGE_CONF": "storage.conf"}
        return {
            **os.environ,
            **{name: str(self._folder / file) for name, file in ours.items()},
            "DISABLE_HC_SYSTEMD": "true",  # health is asked for by the tests
        }

    def podman(self, *words: str, within: float = 60.0, **options: object) -> subprocess.CompletedProcess[str]:
        """Have podman do something, whatever comes of it."""
        return subprocess.run(  # type: ignore[call-overload, no-any-return]
            self.command(*words), env=self.environ, capture_output=True, text=True, timeout=within, **options
        )

    def done(self, *words: str, within: float = 60.0) -> str:
        """Have podman do something, which it must: what it prints."""
        done = self.podman(*words, within=within)
        assert done.returncode == 0, f"podman {' '.join(words)}: {done.stderr[-4000:]}"
        return done.stdout.strip()

    def build(self) -> None:
        """The image, by the Dockerfile as it stands. Packages of Python come by this machine's pip, as it is set up."""
        settings = self._folder / "pip.conf"
        settings.write_text("[global]\nno-index = true\nfind-links = /packages\ndisable-pip-version-check = true\n")
        with ThreadPoolExecutor() as beside:
            loading = beside.submit(self._load_wheels)
            self._make_base()
            wheels = loading.result()
        self.done(
            *("build", "--format", "docker", "--pull-never", "--network", "host", "--isolation", "chroot"),
            *("--volume", f"{wheels}:/packages:ro", "--volume", f"{settings}:/etc/pip.conf:ro"),
            *("--build-arg", f"BASE={_BASE}", "--build-arg", "REVISION=tested", "--tag", IMAGE, str(REPOSITORY)),
            within=BUILT_WITHIN,
        )

    def _make_base(self) -> None:
        """The base image: the smallest Debian, from where this machine has its packages."""
        root = self._folder / "base"
        made = subprocess.run(
            ["debootstrap", "--variant=minbase", _SUITE, str(root), *_mirror()],
            capture_output=True,
            text=True,
            timeout=BUILT_WITHIN,
        )
        if made.returncode:
            missing(f"debootstrap makes no {_SUITE}: {(made.stdout + made.stderr).strip().splitlines()[-1]}")
        with subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE) as packed:
            imported = self.podman("import", "-", _BASE, within=BUILT_WITHIN, stdin=packed.stdout)
        assert imported.returncode == 0, imported.stderr
        shutil.rmtree(root)

    def _load_wheels(self) -> Path:
        """Where the packages of Python are then that the image is made of."""
        wheels = self._folder / "wheels"
        for lock in ("build", "image"):
            words = ["--no-deps", "--require-hashes", "--python-version", _PYTHON, "--quiet", "--dest", str(wheels)]
            requirements = self._folder / f"{lock}.txt"
            requirements.write_text(_without_markers((REPOSITORY / "requirements" / f"{lock}.lock").read_text()))
            command = [sys.executable, "-m", "pip", "download", *words, "--requirement", str(requirements)]
            loaded = subprocess.run(command, capture_output=True, text=True, timeout=BUILT_WITHIN)
            assert loaded.returncode == 0, loaded.stderr
        return wheels

    def close(self) -> None:
        """End all containers, and forget all images."""
        self.podman("rm", "--force", "--all", "--time", "0")
        assert self._place.stdin is not None
        self._place.stdin.close()
        self._place.wait()
        shutil.rmtree(self._folder)


def _without_markers(lock: str) -> str:
    """Return the packages of a lock that the image needs: pip would choose by the Python in which it runs itself."""
    environment = {"python_version": _PYTHON, "python_full_version": f"{_PYTHON}.0"}
    packages = []
    for package in re.split(r"^(?=\S)", lock, flags=re.M):
        marked = re.match(r"\S+( ; (.+?))(?: \\)?$", package, re.M)
        if marked is None:
            packages.append(package)
        elif Marker(marked[2]).evaluate(environment):
            packages.append(package.replace(marked[1], "", 1))
    return "".join(packages)


def _mirror() -> Sequence[str]:
    """Where apt has this suite from, if it does; else debootstrap knows one."""
    words = ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", f"Codename: {_SUITE}"]
    return sorted(set(subprocess.run(words, capture_output=True, text=True).stdout.split()))[:1]
