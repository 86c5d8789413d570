"""What holds for all tests: their order, what coverage is asked of, and fixtures that more than one package uses."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

import assert_rewriting  # noqa: F401 - before the helpers, whose asserts it has rewritten
import machine.compiled  # noqa: F401 - it reads ARENA_PLAIN once, which tests set for what they start
from databases import database_kind  # noqa: F401 - a fixture
from programs import program
from protocol import games

settings.register_profile("patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
"""What is right is so on a busy machine too."""
settings.register_profile(
    "mutants", max_examples=30, deadline=None, database=None, derandomize=True, phases=[Phase.explicit, Phase.generate]
)
"""For scripts/mutants: a fault need only be found, the same way each time, not explained."""

LONGEST = ("test_agents.py", "test_container_image.py", "test_crash.py", "test_doctor.py", "test_every_page.py")
"""Files whose tests take a minute together."""
UNMEASURED = ("tests", "bots", "browser", "web")
"""Folders of tests of whose code no coverage is asked: searches would take five times as long under it."""
MEASURED_ONCE = "[postgresql"
"""In the name of a test that runs on SQLite too."""


def pytest_configure() -> None:
    """Let Ctrl-C stop tests and what they start also in the background of a shell, which has its children ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These go first, as they take longest: then workers that share the files end together."""
    items.sort(key=lambda item: (item.path.name not in LONGEST, item.path.parent.name not in UNMEASURED))
    in_ci = pytest.mark.skip(reason="proves again what others prove: set CI=true")
    for item in items:
        if item.get_closest_marker("ci") and not os.environ.get("CI"):
            item.add_marker(in_ci)
        if item.path.parent.name in UNMEASURED or MEASURED_ONCE in item.name:
            item.add_marker("no_cover")


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """The mark `no_cover` in workers of pytest-xdist too, where pytest-cov stops one of two tracers that it started."""
    tracer = sys.gettrace()
    if item.config.pluginmanager.hasplugin("_cov") and item.get_closest_marker("no_cover"):
        sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)


FORGETFUL = (
    "listener PORT 127.0.0.1\nallow_anonymous true\npersistence false\n"
    "log_dest stderr\nlog_type information\nconnection_messages false\nmax_queued_messages 0\n"
)


class Mosquitto:
    """A Mosquitto on a port of its own, to be killed and started again at will. It forgets everything when it dies,
    unless another `config` has it otherwise, with `PORT` in place of its port.
    """

    def __init__(self, folder: Path, config: str = FORGETFUL) -> None:
        self._program = program("mosquitto")
        self.port = free_port()
        self._config = folder / "mosquitto.conf"
        self._config.write_text(config.replace("PORT", str(self.port)))
        self._process: subprocess.Popen[str] | None = None

    def url(self, prefix: str = "test") -> str:
        return f"mqtt://127.0.0.1:{self.port}/{prefix}"

    def start(self) -> None:
        """Start it and return once it listens."""
        command = [self._program, "-c", str(self._config)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            if "running" in line:
                return
            said.append(line)
        raise AssertionError("mosquitto did not start: " + "".join(said))

    def kill(self) -> None:
        """End it without a word to its clients."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def free_port() -> int:
    """A TCP port that nobody listens on now, below those that the system itself gives to whoever asks for any."""
    while True:
        port = 10_000 + secrets.randbelow(20_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    """A running Mosquitto."""
    broker = Mosquitto(tmp_path)
    broker.start()
    yield broker
    broker.kill()


@pytest.fixture(scope="module")
def dibs() -> Iterator[None]:
    """The games for three are some that the arena knows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(games._WHERE, "dibs", "referee_table:Dibs")
        patch.setitem(games._WHERE, "bids", "referee_table:Bids")
        yield
