"""Measure plies per second through the whole server (journal, digest, records, store), relative to a server that only
echoes.

The echo server uses the same library, the same clients and as many connections. Server and clients run in one process
each. A ply is one frame in and one frame out, like an echo. With `--against`, the servers of other commits are measured
in turn with the same clients. Ratios to the echo are medians of the rounds' ratios. The last line is `ratio N`: the
plies of this version divided by the round trips of the echo.

With `--floor`, two more servers show what a ply takes at least: `bare` only reads frames and writes turns on the same
event loop, and `least` (benchmarks/least_server.py) plays matches with nothing but what the arena promises for a ply.

With `--mqtt`, this version is also measured while it publishes everything to a Mosquitto broker, which the program
starts. With `--metrics`, it is also measured while it collects metrics and serves them every second. With both options,
it is also measured while it does both.

With `--game FILE|NAME`, this version is also measured with another game in its default preset: once with the rules in
the server, and once isolated in a process, whose processor time counts too. The option may be given more than once.
`games loaded` plays the game of the benchmark while the server has loaded all of these too.

With `--rate`, bots move at random moments, at this total rate of plies per second. The program then prints the time
from a move to the opponent's turn, as bots see it, and the server's resident memory at the end of a run and at its
peak.
Usage: python benchmarks/server.py [--connections 64] [--seconds 5] [--rounds 3] [--rate N] [--against COMMIT]...
    [--game GAME]... [--floor] [--mqtt] [--metrics] [--profile FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import cProfile
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, NoReturn

import msgpack
import uvloop
from least_server import serve_least
from toolkit import memory_mib, option, processor_s, quantile, read_options
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from machine import event_loop

REPOSITORY = Path(__file__).parents[1]
"""The folder of the repository."""
PROGRAM_NAMES = ("server.py", "referee.py")
"""The file names of this program in different commits, the newest first."""
GAME = "nim"
"""The game of the matches."""
CONFIG = {"heaps": [500, 500], "take": [1, 2, 3]}
"""The config of the matches, which have 1,000 plies with up to six legal moves."""
POOL = "nim/classic"
"""The rating pool of the matches."""
_MOVE_FRAME = msgpack.packb({"type": "move", "match": "m-100", "ply": 100, "move": {"heap": 0, "take": 1}})
"""A typical `move` message as a frame in msgpack. Clients of the echo server send it first."""
_TURN_FRAME = msgpack.packb(
    {
        "type": "turn",
        "match": "m-100",
        "ply": 100,
        "to_move": 0,
        "state": {"heaps": [100, 200], "to_move": 0, "ply": 100},
        "events": [{"ply": ply, "seat": ply % 2, "move": {"heap": 0, "take": 1}} for ply in (98, 99)],
        "clock": [60000, 60000],
        "legal": [{"heap": heap, "take": take} for heap in (0, 1) for take in (1, 2, 3)],
        "digest": "0" * 64,
    }
)
"""A typical `turn` message as a frame in msgpack. The echo server answers each frame with it."""


class _Run(NamedTuple):
    """The measurements of a server in one run. They may also be medians over runs, or ratios to another server."""

    rate: float
    cost: float
    """The processor time of the server per ply, in µs."""
    p50: float
    """Median µs from a move to the opponent's turn. Only `--rate` measures `p50`, `p99` and `longest`."""
    p99: float
    longest: float
    memory: float
    """The resident memory of the server in MiB."""
    peak: float


@dataclass
class _Contender:
    """A server to measure: its name, its command, and its runs."""

    name: str
    command: list[str]
    root: Path = REPOSITORY
    """The folder with the packages of the server's version."""
    runs: list[_Run] = field(default_factory=list)

    def ratios_to(self, other: _Contender) -> _Run:
        """Return the ratios of this server's measurements to those of `other`. Each is the median over the rounds."""
        return _medians([_Run(*map(_ratio, run, of)) for run, of in zip(self.runs, other.runs, strict=True)])


def _medians(runs: list[_Run]) -> _Run:
    return _Run(*map(median, zip(*runs, strict=True)))


def _ratio(one: float, other: float) -> float:
    """Return the ratio of two measurements. Return NaN if the second one is 0, which means that it is unknown."""
    return one / other if other else float("nan")


class _Load:
    """The state that all clients share: their count of plies and, with `--rate`, their queue for permission to move."""

    def __init__(self, connections: int, rate: float) -> None:
        self.rate = rate
        self.count = 0
        self.latencies: list[float] = []
        """The times in µs from a move to the opponent's turn."""
        self.is_counting = False
        self.connect_limit = asyncio.Semaphore(50)
        """A limit on the number of clients that connect at the same time. Each must connect within a timeout."""
        self.complete = asyncio.Event()
        """This event is set once all clients are connected."""
        self._missing = connections
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._moved_at: dict[object, float] = {}
        """The times at which unanswered moves were sent, by match."""

    async def wait_until_complete(self) -> None:
        """Wait until all clients are connected. Clients that already played would slow down those that connect."""
        self._missing -= 1
        if not self._missing:
            self.complete.set()
        await self.complete.wait()

    async def wait_for_turn(self, match: object) -> None:
        """Record how long the opponent's move took to arrive, and wait until this client may move."""
        moved = self._moved_at.pop(match, None)
        if moved is not None and self.is_counting:
            self.latencies.append((time.perf_counter() - moved) * 1e6)
        allowed = asyncio.get_running_loop().create_future()
        self._waiting.append(allowed)
        await allowed
        self._moved_at[match] = time.perf_counter()

    async def release_moves(self) -> None:
        """Let waiting clients move, in order of arrival, at the total rate of `rate` moves per second. Clients do not
        use timers of their own, because these are too coarse.
        """
        moments = random.Random(1)
        due = time.perf_counter()
        while True:
            now = time.perf_counter()
            while self._waiting and due <= now:
                self._waiting.popleft().set_result(None)
                due += moments.expovariate(self.rate)
            if not self._waiting:
                due = max(due, now)  # missed moments are not made up for
            await asyncio.sleep(max(0, due - now - 0.002))


def main() -> None:
    options = read_options(
        __doc__,
        connections=64,
        seconds=5.0,
        rounds=3,
        rate=option(0.0, "plies a second in all (as many as there can be)"),
        against=option([], "another version; may be given more than once", metavar="COMMIT", action="append"),
        game=option([], "also this game; may be given more than once", metavar="FILE|NAME", action="append"),
        synced=option(False, "also this version as with --durability machine"),
        floor=option(False, "also servers that do the least for a ply"),
        mqtt=option(False, "also this version with a feed to a Mosquitto"),
        metrics=option(False, "also this version with metrics that are read"),
        publish=option(None, argparse.SUPPRESS),
        isolated=option(False, argparse.SUPPRESS),
        loaded=option([], argparse.SUPPRESS, action="append"),
        measured=option(False, argparse.SUPPRESS),
        profile=option(None, "write the arena server's cProfile here", type=Path),
        serve=option(None, argparse.SUPPRESS, choices=_JOBS),
    )
    if options.serve:
        job = _JOBS[options.serve](options)
        profile = cProfile.Profile() if options.profile else None
        if profile:
            profile.enable()
        event_loop.run(job)
        if profile:
            profile.disable()
            profile.dump_stats(options.profile)
        return
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        broker = stack.enter_context(run_mosquitto(folder)) if options.mqtt else None
        contenders = _make_contenders(options, folder, broker)
        for _ in range(options.rounds):
            for contender in contenders:
                contender.runs.append(_measure(contender, options))
    (_print_latencies if options.rate else _print_rates)(contenders, options)


def _make_contenders(options: argparse.Namespace, folder: Path, broker: str | None) -> list[_Contender]:
    """Return the servers in the order of measurement: echo, this version, others. `broker` is the URL of a broker."""
    this = [sys.executable, __file__, "--serve"]
    profile = ["--profile", str(options.profile)] if options.profile else []
    commits = [_resolve_commit(name) for name in options.against]
    others = [_extract_commit(commit, folder / str(number)) for number, commit in enumerate(commits)]
    synced = [_Contender("synced", [*this, "arena", "--synced"])] if options.synced else []
    fed = [_Contender("mqtt", [*this, "arena", "--publish", broker])] if broker else []
    if options.metrics:
        fed.append(_Contender("metrics", [*this, "arena", "--measured"]))
        if broker:
            fed.append(_Contender("both", [*this, "arena", "--measured", "--publish", broker]))
    least = [_Contender(name, [*this, name]) for name in ("bare", "least")] if options.floor else []
    loaded = [f"--loaded={word}" for word in options.game]
    games = [_Contender("games loaded", [*this, "arena", *loaded])] if loaded else []
    for word in options.game:
        name, command = Path(word).stem, [*this, "arena", "--game", word]
        games += [_Contender(name, command), _Contender(f"{name}, isolated", [*command, "--isolated"])]
    main = [_Contender("echo", [*this, "echo"]), _Contender("this", [*this, "arena", *profile])]
    return [*main, *least, *fed, *synced, *games, *others]


@contextlib.contextmanager
def run_mosquitto(folder: Path) -> Iterator[str]:
    """Run the broker Mosquitto, without persistence, on a free port. Yield the URL of a topic prefix on it."""
    program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        _exit_with_error("mosquitto is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = folder / "mosquitto.conf"
    config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\nlog_dest none\n")
    with subprocess.Popen([program, "-c", str(config)]) as broker:
        try:
            yield f"mqtt://127.0.0.1:{port}/arena"
        finally:
            broker.terminate()


def _resolve_commit(name: str) -> str:
    command = ["git", "-C", str(REPOSITORY), "rev-parse", "--verify", "--quiet", "--short", f"{name}^{{commit}}"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        _exit_with_error(f"there is no commit {name} in this repository")
    return found.stdout.strip()


def _extract_commit(commit: str, root: Path) -> _Contender:
    """Extract a commit into the folder `root`. Return a contender that runs this commit's server, by the commit's own
    version of this program.
    """
    root.mkdir()
    tree = subprocess.run(["git", "-C", str(REPOSITORY), "archive", commit], stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(root)], input=tree, check=True)
    program = next((path for name in PROGRAM_NAMES if (path := root / "benchmarks" / name).exists()), None)
    if program is None:
        _exit_with_error(f"{commit} has no benchmark of the server")
    return _Contender(commit, [_find_python(root), str(program), "--serve", "arena"], root)


def _find_python(root: Path) -> str:
    """Return the Python that runs a version: this one, or a new environment if the version needs other packages."""
    needed = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = [sys.executable, *install, "--dry-run", "--no-index", *needed]
    if subprocess.run(offline, capture_output=True, check=False).returncode == 0:
        return sys.executable
    environment = root / ".venv"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = str(environment / "bin" / "python")
    subprocess.run([python, *install, str(root)], check=True)
    return python


def _exit_with_error(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    raise SystemExit(2)


def _print_rates(contenders: list[_Contender], options: argparse.Namespace) -> None:
    print(f"{options.connections} connections, medians of {options.rounds} runs of {options.seconds:g} s, in turn")
    echo, this = contenders[:2]
    width = max(len(one.name) for one in contenders) + 1
    for one in contenders:
        typical, beside = _medians(one.runs), one.ratios_to(echo)
        what, more = "plies/s", f"  {beside.cost:.2f} of the echo's, {beside.rate:.2f} of its rate"
        if one is echo:
            what, more = "round trips/s", "of processor time each"
        elif one is not this:
            ours = one.ratios_to(this)
            more += f"; {ours.cost:.2f} of this version's, {ours.rate:.2f} of its rate"
        print(f"{one.name:<{width}}{typical.rate:8,.0f} {what:<13}{typical.cost:7.1f} µs {more}")
    print(f"ratio {this.ratios_to(echo).rate:.2f}")


def _print_latencies(contenders: list[_Contender], options: argparse.Namespace) -> None:
    print(f"{options.connections} connections, {options.rate:,.0f} plies/s asked,", end=" ")
    print(f"medians of {options.rounds} runs of {options.seconds:g} s, in turn")
    print("         plies/s   µs each  of echo's    p50 ms    p99 ms   longest     MiB    most")
    for one in contenders:
        typical, most = _medians(one.runs), _Run(*map(max, zip(*one.runs, strict=True)))
        print(f"{one.name:<8}{typical.rate:8,.0f}{typical.cost:10.1f}{one.ratios_to(contenders[0]).cost:11.2f}", end="")
        print(f"{typical.p50 / 1000:10.2f}{typical.p99 / 1000:10.2f}{most.longest / 1000:10.1f}", end="")
        print(f"{typical.memory:8.0f}{most.peak:8.0f}")


def _measure(contender: _Contender, options: argparse.Namespace) -> _Run:
    command = [*contender.command, "--connections", str(options.connections)]
    environment = os.environ | {"PYTHONPATH": str(contender.root)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        try:
            port = server.stdout.readline()
            if not port:
                raise SystemExit(f"the server of {contender.name} did not start")
            client = _echo_client if contender.name in ("echo", "bare") else _playing_client
            return uvloop.run(_run_load(client, int(port), server.pid, options))
        finally:
            server.communicate("\n")


async def _run_load(
    client: Callable[[int, int, _Load], Coroutine[None, None, None]], port: int, pid: int, options: argparse.Namespace
) -> _Run:
    load = _Load(options.connections, options.rate)
    clock = asyncio.get_running_loop().time
    if load.rate:
        event_loop.relax_gc()  # a pause of the clients would be mistaken for one of the server
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(client(port, number, load)) for number in range(options.connections)]
        if load.rate:
            tasks.append(group.create_task(load.release_moves()))
        await load.complete.wait()
        await asyncio.sleep(2)
        used, began, load.is_counting = _processor_s(pid), clock(), True
        await asyncio.sleep(options.seconds)
        load.is_counting = False
        rate = load.count / (clock() - began)
        cost = _ratio(_processor_s(pid) - used, load.count) * 1e6
        memory, peak = memory_mib(pid), memory_mib(pid, "VmHWM")
        for task in tasks:
            task.cancel()
    p50, p99, longest = (quantile(load.latencies, share) for share in (0.5, 0.99, 1))
    return _Run(rate, cost, p50, p99, longest, memory, peak)


def _processor_s(pid: int) -> float:
    """Return the processor seconds of a process and of its children, in which isolated rules run."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        children = []
    return processor_s(pid) + sum(_processor_s(int(child)) for child in children)


async def _echo_client(port: int, number: int, load: _Load) -> None:
    """Act as a client of the echo server: read a turn and send a move, repeatedly."""
    async with load.connect_limit:
        wire = await _connect(port, number)
    async with wire:
        await load.wait_until_complete()
        await wire.send(_MOVE_FRAME)
        while True:
            message = msgpack.unpackb(await wire.recv())
            match, ply, move = message["match"], message["ply"], message["legal"][0]
            if load.rate:
                await load.wait_for_turn(number)
            await wire.send(msgpack.packb({"type": "move", "match": match, "ply": ply, "move": move}))
            load.count += load.is_counting


async def _playing_client(port: int, number: int, load: _Load) -> None:
    """Play like a minimal bot: send `ready`, then always the first legal move."""
    async with load.connect_limit:
        wire = await _connect(port, number)
        await wire.send(msgpack.packb({"type": "hello", "bot": f"bot{number}", "token": f"{number:016}"}))
        await wire.recv()
    async with wire:
        await load.wait_until_complete()
        while True:
            message = msgpack.unpackb(await wire.recv())
            if message["type"] == "turn":
                match, ply, move = message["match"], message["ply"], message["legal"][0]
                if load.rate:
                    await load.wait_for_turn(match)
                await wire.send(msgpack.packb({"type": "move", "match": match, "ply": ply, "move": move}))
                load.count += load.is_counting
            elif message["type"] == "start":
                await wire.send(msgpack.packb({"type": "ready", "match": message["match"]}))


def _connect(port: int, number: int) -> connect:
    """Connect from a loopback address. A hundred clients share an address: more would exceed the server's limit."""
    return connect(
        f"ws://127.0.0.1:{port}",
        compression=None,
        ping_interval=None,
        create_connection=ClientConnection,
        local_addr=(f"127.0.0.{1 + number // 100}", 0),
    )


async def _serve_echo(options: argparse.Namespace) -> None:
    async def echo(wire: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for _ in wire:
                await wire.send(_TURN_FRAME)

    async with serve(echo, "127.0.0.1", 0, compression=None, ping_interval=None) as server:
        await _serve_until_line(next(iter(server.sockets)).getsockname()[1])


async def _serve_arena(options: argparse.Namespace) -> None:
    from arena.feed import Feed
    from arena.host.game_watch import GameLimits
    from arena.host.handler import Identity
    from arena.host.journal import Journal
    from arena.host.meters import Meters
    from arena.host.runner import MatchRunner
    from arena.host.session import ClientSession
    from arena.network.admission import Access
    from arena.network.binding import bind_sockets, port_of
    from arena.network.connection_limits import ConnectionBounds
    from arena.operations import metrics, prometheus
    from arena.server.arena import Arena
    from arena.server.auth import Authenticator, Registration
    from arena.store.async_store import AsyncStore
    from arena.store.feed_position import switch_feed
    from arena.store.store import Store
    from machine.game_discovery import resolve_game
    from protocol.games import load_game
    from protocol.messages import Clock, Hello

    names = [f"bot{number}" for number in range(options.connections)]
    pairs = {name: pair for pair in zip(names[::2], names[1::2], strict=True) for name in pair}
    game = load_game(resolve_game(options.game[0])) if options.game else load_game(GAME, CONFIG)
    pool = None if options.game else POOL
    count = 0

    class Paired(Arena):
        """An arena that admits every bot, and lets each pair of bots play one match after the other."""

        async def authenticate(self, hello: Hello, address: str) -> Identity:
            return Identity(hello.bot)

        def on_connected(self, session: ClientSession) -> None:
            super().on_connected(session)
            asyncio.get_running_loop().call_soon(self.pair, pairs[session.key])

        def on_seat_released(self, runner: MatchRunner, seat: int) -> None:
            super().on_seat_released(runner, seat)
            asyncio.get_running_loop().call_soon(self.pair, runner.bots)

        def pair(self, pair: Sequence[str]) -> None:
            nonlocal count
            if all(self.lobby.free_slots(name) > 0 for name in pair):
                count += 1
                seed = count.to_bytes(32, "big")
                self.host.start_match(self.headers.make(f"m-{count}", game, pair, seed, pool=pool), seed)

    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "arena.db")
        store.write(switch_feed, on=options.publish is not None)
        archive = AsyncStore(store)
        feed = Feed(options.publish) if options.publish else None
        publishing = asyncio.create_task(feed.run()) if feed else None
        meters = Meters() if options.measured else None
        arena = Paired(
            archive,
            Journal(Path(folder) / "journal", synced=options.synced),
            Authenticator(archive, Registration()),
            Clock(bank_ms=60_000, increment_ms=500),
            feed=feed,
            meters=meters,
            access=Access(bounds=ConnectionBounds(per_address=1000)),
            game_limits=GameLimits(),
            isolates_games=options.isolated,
        )
        for name in (game.name, *(load_game(resolve_game(word)).name for word in options.loaded)):
            await arena.host.rules.check_game(name)
        port = await arena.host.listener.listen("127.0.0.1", 0)
        if meters is None:
            await _serve_until_line(port)
        else:
            read = bind_sockets("127.0.0.1", 0)
            sources = metrics.MetricSources(arena, meters, feed, {}, "sqlite", "")
            async with (
                prometheus.serve_metrics(sources, read),
                event_loop.background_task(_read_metrics(port_of(read))),
            ):
                await _serve_until_line(port)
        await arena.close()
        if feed and publishing:
            await feed.close()
            publishing.cancel()
        await archive.drain()
        store.close()


async def _read_metrics(port: int) -> None:
    """Request the metrics every second, as Prometheus does."""
    while True:
        await asyncio.sleep(1)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        await reader.read()
        writer.close()


async def _serve_until_line(port: int) -> None:
    """Print the server's port, then serve until the parent process sends a line."""
    print(port, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


_JOBS: dict[str, Callable[[argparse.Namespace], Coroutine[Any, Any, None]]] = {
    "echo": _serve_echo,
    "arena": _serve_arena,
    "bare": lambda options: serve_least(_TURN_FRAME, is_bare=True),
    "least": lambda options: serve_least(_TURN_FRAME, is_bare=False),
}
"""The servers that this program can run, by the value of `--serve`."""


if __name__ == "__main__":
    main()
