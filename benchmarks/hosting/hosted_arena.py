"""Helpers for the programs in this folder: bots in several languages, an arena that hosts them, and its runners.

Import this module before those of the folders above, which it puts on the path.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

sys.path.append(str(Path(__file__).parents[1] / "reliability"))
from rig import TIMEOUT_S, Server
from toolkit import memory_mib

from arena.commands.runner import OPERATOR_TOKEN_VARIABLE
from arena.processes.server_process import LoggedProcess, start_module
from arena.store.bot_versions import hosted_bots, list_versions
from bots.commands.submit import submit
from machine.process_tree import process_tree

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
"""The folder with bots of other languages."""
CHECK_TIMEOUT_S = 60.0
"""Maximum seconds for the check of a bot."""
_LIMIT_OPTIONS = ("--registrations-per-hour", "10000", "--max-per-address", "1000", "--rated-per-pair", "0")
"""Options of the server, because all bots have one address, and few opponents."""
_CLASS = """\
import time
from bots import Bot, run

class Mine(Bot):
    def choose(self, turn):
        time.sleep(PAUSE)
        return turn.random.choice(turn.legal)

run(Mine("mine"))
"""
_LINES = """\
import json, random, sys, time

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "turn":
        time.sleep(PAUSE)
        print(json.dumps(random.choice(message["legal"])), flush=True)
"""
_SCRIPT = """\
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const { type, legal } = JSON.parse(line);
  if (type !== "turn") return;
  const move = legal[Math.floor(Math.random() * legal.length)];
  setTimeout(() => console.log(JSON.stringify(move)), 1000 * PAUSE);
});
"""
_C_PAUSE = "        usleep((unsigned)(1e6 * PAUSE));\n"
_C_READS = "            continue;\n"
_SHELL_PAUSE = "      sleep PAUSE\n"
_SHELL_READS = '    \'{"type":"turn",\'*)\n'


class Language(NamedTuple):
    """A bot that plays any game at random or by the first legal move, in a language."""

    name: str
    file: str
    needs: str
    """The program that builds or starts it."""
    command: tuple[str, ...]
    """The command that starts it beside an arena, in its folder."""
    build: tuple[str, ...] = ()


LANGUAGES = (
    Language("python-bot", "mine.py", "python3", (sys.executable, "mine.py")),
    Language("python-lines", "lines.py", "python3", (sys.executable, "-P", "lines.py")),
    Language("javascript", "mine.js", "node", ("node", "mine.js")),
    Language("c", "legal.c", "cc", ("./legal",), ("cc", "-O2", "-o", "legal", "legal.c")),
    Language("java", "Legal.java", "javac", ("java", "-Xmx512m", "-cp", ".", "Legal"), ("javac", "Legal.java")),
    Language("go", "clever.go", "go", ("./clever",), ("go", "build", "-o", "clever", "clever.go")),
    Language("shell", "legal.sh", "sh", ("sh", "legal.sh")),
)
"""The languages, in the order of the tables."""


def find_languages(names: Iterable[str]) -> list[Language]:
    """Return the languages of these names that this machine has. Raise `SystemExit` for an unknown name."""
    wanted = [*names]
    known = {language.name for language in LANGUAGES}
    if unknown := [name for name in wanted if name not in known]:
        raise SystemExit(f"unknown language {unknown[0]}: one of {', '.join(sorted(known))}")
    return [one for one in LANGUAGES if one.name in wanted and shutil.which(one.needs) is not None]


def source_of(language: Language, pause_s: float = 0.0) -> str:
    """Return the source of a language's bot, which waits before each move. Bots of Java and Go don't wait."""
    pause = f"{pause_s:g}"
    match language.name:
        case "python-bot":
            return _CLASS.replace("PAUSE", pause)
        case "python-lines":
            return _LINES.replace("PAUSE", pause)
        case "javascript":
            return _SCRIPT.replace("PAUSE", pause)
    source = (EXAMPLES / language.file).read_text()
    if not pause_s:
        return source
    if language.name == "c":
        source = source.replace("#define _POSIX_C_SOURCE 200809L", "#define _DEFAULT_SOURCE\n#include <unistd.h>")
        return _insert_after(source, _C_READS, _C_PAUSE.replace("PAUSE", pause))
    if language.name == "shell":
        return _insert_after(source, _SHELL_READS, _SHELL_PAUSE.replace("PAUSE", pause))
    return source


def _insert_after(source: str, line: str, added: str) -> str:
    assert source.count(line) == 1, line
    return source.replace(line, line + added)


class Runner(LoggedProcess):
    """A process of `arena runner` in a folder of its own, for the arena at `url`. A later `start` uses the folder and
    the URL of the first.
    """

    def __init__(self, url: str, slots: int, token: str, folder: Path) -> None:
        self.folder = folder
        words = ("arena", "runner", "--server", url, "--slots", str(slots), "--folder", str(folder))
        environment = os.environ | {OPERATOR_TOKEN_VARIABLE: token}
        super().__init__(lambda **streams: start_module(words, env=environment, start_new_session=True, **streams))

    def bots(self) -> set[str]:
        """Return the bots that it runs, according to its log."""
        running = set[str]()
        for line in self.log:
            if " runs " in line:
                running.add(line.partition(" runs ")[2].partition(",")[0])
            elif " ended: " in line:
                running.discard(line.partition(" ended: ")[0].split()[-1])
        return running

    def signal_all(self, number: signal.Signals) -> None:
        """Send a signal to the runner and all processes below it."""
        for process in process_tree(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)


class HostedArena:
    """A server that takes programs, in a folder of its own, and its runners."""

    def __init__(self, *options: str) -> None:
        self.server = Server("--hosting", "--web-port", "0", *_LIMIT_OPTIONS, *options)
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        self.runners: list[Runner] = []
        self.others: list[int] = []
        """Processes whose cost counts too."""
        self._page = ""

    def __enter__(self) -> Self:
        self.server.start()
        line = self.server.wait_for_line("the page is at", TIMEOUT_S)
        self._page = line.rpartition("the page is at ")[2].strip()
        return self

    def __exit__(self, *exc: object) -> None:
        for runner in self.runners:
            runner.signal_all(signal.SIGCONT)
            with contextlib.suppress(Exception):
                runner.stop()
        self.server.__exit__()
        self._folder.cleanup()

    def add_runner(self, slots: int, url: str | None = None) -> Runner:
        """Start a runner, and wait until the arena knows it."""
        token = json.loads((self.server.data / "operator.json").read_text())["token"]
        folder = self.folder / f"runner-{len(self.runners) + 1}"
        runner = Runner(url or self.server.url, slots, token, folder)
        self.runners.append(runner)
        runner.start()
        runner.wait_for_line("is ready", TIMEOUT_S)
        return runner

    def hand_in(self, name: str, language: Language, game: str, pause_s: float = 0.0) -> None:
        """Hand a bot in."""
        file = self.folder / f"sources/{name}" / language.file
        file.parent.mkdir(parents=True)
        file.write_text(source_of(language, pause_s))
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            submit(file, self.server.url, name, [game], token=secrets.token_urlsafe(24), page=self._page)

    def wait_until_checked(self, names: Sequence[str]) -> None:
        """Wait until these bots have passed their checks. Raise `RuntimeError` with the report of one that fails."""
        deadline = time.monotonic() + CHECK_TIMEOUT_S * len(names)
        with self.server.open_store() as store:
            while len(active := store.read(hosted_bots)) < len(names):
                for name in {*names} - {one.name for one in active}:
                    for version in store.read(list_versions, name):
                        if version.state == "failed":
                            raise RuntimeError(f"{name} failed its check: {version.report}")
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{len(active)} of {len(names)} bots are checked")
                time.sleep(0.5)

    def processes(self) -> list[int]:
        """Return the server, the runners, `others`, and all processes below them."""
        return [*process_tree(self.server.process.pid), *self.client_processes()]

    def client_processes(self) -> list[int]:
        """Return the runners, `others`, and all processes below them."""
        roots = [*(runner.process.pid for runner in self.runners), *self.others]
        return [process for root in roots for process in process_tree(root)]


def tree_processor_s(processes: Iterable[int]) -> float:
    """Return the processor time of these processes and of those below them that have ended, in seconds."""
    ticks = 0
    for process in processes:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def proportional_memory_mib(processes: Iterable[int]) -> float:
    """Return the memory of these processes. A page that several processes share counts once. Without the right to read
    that of another user, each counts with all its pages.
    """
    return sum(map(_proportional_mib, processes))


def _proportional_mib(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return memory_mib(process)
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def folder_mib(*folders: Path) -> float:
    """Return the size of all files below some folders. Files that go meanwhile count nothing."""
    total = 0
    for folder in folders:
        for place, _, files in os.walk(folder):
            for name in files:
                with contextlib.suppress(OSError):
                    total += (Path(place) / name).lstat().st_blocks * 512
    return total / 2**20


@contextlib.contextmanager
def sampled_memory(find: Callable[[], Iterable[int]], interval_s: float = 0.3) -> Iterator[list[float]]:
    """Measure the memory of the processes that `find()` returns again and again, in a thread. Yield the samples, in
    MiB.
    """
    samples, over = list[float](), threading.Event()

    def sample() -> None:
        while not over.wait(interval_s if samples else 0.0):
            samples.append(proportional_memory_mib(find()))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()


def format_table(rows: Iterable[Sequence[str]], widths: Sequence[int]) -> str:
    """Return a table as text. The first column is aligned to the left, all others to the right."""
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("".join(cells).rstrip())
    return "\n".join(lines)
