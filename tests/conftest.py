"""What holds for all tests: their order, what coverage is asked of, and fixtures that more than one package uses."""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import logging
import os
import random
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

import assert_rewriting  # noqa: F401 - before the helpers, whose asserts it has rewritten
import machine.compiled  # noqa: F401 - it reads ARENA_PLAIN once, which tests set for what they start
import postgres_statements
import run_environ
import zygote
from arena.commands import progress
from arena.processes.server_process import LoggedProcess
from budget import Budget, CostMeter
from databases import (
    copied_databases,  # noqa: F401 - a fixture, as those below
    database_kind,  # noqa: F401
    mark_repetitions,
    store,  # noqa: F401
    uncopied_databases,  # noqa: F401
    url,  # noqa: F401
)
from forked_workers import ForkedWorkers
from machine import game_files
from machine.game_discovery import GAME_FILES_VARIABLE, brought_games
from postgres import remove_shared_server
from programs import program
from protocol.games import remove_game
from registered_games import TABLE_GAMES, registered
from timeouts import PATIENT_ENVIRON, WITHIN
from virtual_time import pytest_asyncio_loop_factories  # noqa: F401 - a hook
from volumes import examples

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
"""What is right is so on a busy machine too."""
settings.register_profile("repeatable", PATIENT, derandomize=True, max_examples=examples(50, nightly=100))
settings.load_profile("repeatable")
"""The same examples in every run, so that none is red by chance: scripts/fuzz looks for others."""
settings.register_profile("fuzz", PATIENT, print_blob=True)
"""For scripts/fuzz: other examples in every run, by its seed."""
settings.register_profile(
    "mutants", max_examples=30, deadline=None, database=None, derandomize=True, phases=[Phase.explicit, Phase.generate]
)
"""For scripts/mutants: a fault need only be found, the same way each time, not explained."""

UNMEASURED = ("bots", "browser", "hosting", "web")
"""Folders of tests of whose code no coverage is asked, as of that of the files in `tests` itself: searches would take
five times as long under it.
"""
MEASURED_IN_ARENA = re.compile(
    r"\b(arena\.(lobby|ratings|replay|rerun|runs|sprt|transparency_log)|lobby_machine|seek_board|llr|"
    r"machine(?!\.(event_loop|timestamps)\b))\b"
)
"""What coverage is asked of (`[tool.coverage.run]`): files of tests/arena that do not name any of it are not traced.
Two modules are left out that nearly all files use.
"""
UNTRACED_IN_ARENA = re.compile(
    r"test_(auth|commit_log|feed|file_permissions|hosted_tournament|hostile_programs|hung_sessions|metrics|operator|"
    r"planned_tournaments|rename_and_delete|revoke_and_rotate|sandbox|scheduled_backups|sqlite_database|"
    r"startup_failures|tls|tournament_workers|wrong_games)\.py"
)
"""Files of tests/arena that are not traced though they name some of it: they start programs and fill databases, which
takes twice as long under it, and what they run of it others run too.
"""
OMITTED = re.compile(
    r"^from (games\.\w+\.(bots|evaluation|exact|exploitability|grader|memory_one|search|strategies)|"
    r"machine\.(client|exact|workers)|plain_answers)\b",
    re.M,
)
"""What coverage omits of games and of the machine. Files of tests that import it test it, and are not traced either."""
MEASURED_ONCE = "[postgresql"
"""In the name of a test that runs on SQLite too."""

logging.getLogger("asyncio").addFilter(lambda record: not record.msg.startswith("Unknown child process"))
"""A thread of asyncio warns so, maybe during the next test, if a closed transport saw first that its process ended."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole-budget", action="store_true", help="judge the sums of all tests too: tests/budget.py")
    parser.addoption("--workers", type=int, default=0, help="run the tests in so many forked processes")


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C stop tests and what they start also in the background of a shell, which has its children ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(PATIENT_ENVIRON)  # for what tests call or start without a command
    progress.FIRST_MESSAGE_DELAY_S = 600.0  # on a busy machine a command would tell how far it is
    run_environ.remember()
    config.option.randomly_reset_seed = False  # `_seed_random` takes a tenth of the time
    config.pluginmanager.register(CostMeter(), "cost-meter")
    budget = Budget(whole=config.getoption("--whole-budget"))
    config.pluginmanager.register(budget, "budget")
    if os.environ.get(postgres_statements.FOLDER):
        config.pluginmanager.register(postgres_statements)
    if workers := config.getoption("--workers"):
        zygote.begin()  # it imports while the tests are collected
        config.pluginmanager.register(ForkedWorkers(config, workers, budget))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """Stop what the whole run has shared."""
    zygote.end()
    remove_shared_server()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[object]:
    """Collect tests without garbage collection: next to nothing of what is imported and collected becomes garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `ci` or `nightly` elsewhere, and mark what is not to be traced for coverage."""
    mark_repetitions(items)
    for mark, variable in (("ci", "CI"), ("nightly", "NIGHTLY")):
        if not os.environ.get(variable):
            skip = pytest.mark.skip(reason=f"proves again what others prove: set {variable}=true")
            for item in items:
                if item.get_closest_marker(mark):
                    item.add_marker(skip)
    unmeasured = {file for file in {item.path for item in items} if _is_unmeasured(file)}
    for item in items:
        if item.path in unmeasured:
            item.add_marker("untraced")
        elif MEASURED_ONCE in item.name:
            item.add_marker("no_cover")


def _is_unmeasured(file: Path) -> bool:
    folder, *below = file.relative_to(Path(__file__).parent).parts
    match folder:
        case "arena":
            is_named = MEASURED_IN_ARENA.search(file.read_text("utf-8"))
            return not is_named or UNTRACED_IN_ARENA.fullmatch(file.name) is not None
        case "games" | "machine":
            return OMITTED.search(file.read_text("utf-8")) is not None
        case _:
            return folder in UNMEASURED or not below


def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Begin each file of tests with the same environment, and each test in an empty folder."""
    run_environ.restore_before(item.path)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Have the fixtures of a test draw the same whatever ran before it."""
    _seed_random(item)


def _seed_random(item: pytest.Item) -> None:
    """Seed `random` by the seed of the run and the name of a test.

    pytest-randomly would also seed numpy's global generator, which nothing uses, and would copy the state.
    """
    random.seed(item.config.getoption("randomly_seed", 0) + zlib.crc32(item.nodeid.encode()))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[object]:
    """Have a test draw the same whether or not its shared fixtures were made before. Run one that is marked `no_cover`
    untraced: pytest-cov stops only one of the tracers that it started.
    """
    _seed_random(item)
    tracer = sys.gettrace()
    if item.config.pluginmanager.hasplugin("_cov") and item.get_closest_marker("no_cover"):
        sys.settrace(None)
    try:
        return (yield)
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
        self._process: LoggedProcess | None = None

    def url(self, prefix: str = "test") -> str:
        return f"mqtt://127.0.0.1:{self.port}/{prefix}"

    def start(self) -> None:
        """Start it and return once it listens."""
        command = (self._program, "-c", str(self._config))
        self._process = LoggedProcess(functools.partial(subprocess.Popen, command))
        self._process.start()
        self._process.wait_for_line("running", WITHIN)

    def kill(self) -> None:
        """End it without a word to its clients."""
        if self._process is not None:
            self._process.stop(signal.SIGKILL)
            self._process = None


_reservations: list[socket.socket] = []
"""One socket for each port that this process was given, kept so that no other test gets the same."""


def free_port() -> int:
    """Return a TCP port that nobody listens on, below those that the system gives to whoever asks for any.

    It stays reserved among the tests of this machine until this process ends. A program outside of the tests could
    still take it, so prefer port 0 wherever what is tested can tell its port.
    """
    while True:
        port = 10_000 + secrets.randbelow(20_000)
        reservation = socket.socket(socket.AF_UNIX)
        with socket.socket() as probe, contextlib.suppress(OSError):
            reservation.bind(f"\0bot-arena-port-{port}")
            probe.bind(("127.0.0.1", port))
            _reservations.append(reservation)
            return port
        reservation.close()


@pytest.fixture
def socket_folder() -> Iterator[Path]:
    """An empty folder for Unix sockets, whose paths have 100 characters at most: `tmp_path` may have more."""
    with tempfile.TemporaryDirectory(prefix="arena-", dir="/tmp") as folder:
        yield Path(folder)


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
    with registered(*TABLE_GAMES):
        yield


@pytest.fixture
def without_numba() -> Callable[[Callable[[], Any]], Any]:
    """Calls a function of a test module where nothing is compiled; what it returns comes as JSON."""

    def call(function: Callable[[], Any]) -> Any:
        file = Path(function.__code__.co_filename)
        script = f"import sys, json; sys.path[:0] = {[str(file.parent), str(Path(__file__).parent)]!r}\n"
        script += f"from {file.stem} import {function.__name__}; print(json.dumps({function.__name__}()))"
        plain = {**os.environ, "ARENA_PLAIN": "1"}
        done = subprocess.run([sys.executable, "-c", script], env=plain, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return call


@pytest.fixture
def no_brought_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Forget the games of files after a test, here and in the environment. The function forgets them before."""
    monkeypatch.delenv(GAME_FILES_VARIABLE, raising=False)
    monkeypatch.setattr(game_files, "ROOT_CACHE_FOLDER", tmp_path / "root-cache")

    def forget() -> None:
        for name in brought_games():
            remove_game(name)
        os.environ.pop(GAME_FILES_VARIABLE, None)

    yield forget
    forget()
