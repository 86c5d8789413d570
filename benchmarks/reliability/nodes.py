"""Kill and freeze servers that share an arena, crash their database, delete volumes, and reuse a node's name.

Then everything that was sent to the bots is compared with the store. The check fails if

- a match or its end is lost or stored differently, or the numbers of matches have a gap,
- ratings do not follow from the matches,
- a process sends a frame after it was frozen beyond its lease,
- the matches of a game are not paired, or
- a revoked bot stays connected.

    python benchmarks/reliability/nodes.py [--faults 100] [--pace 0.01] [--seed 1] [--small]

100 faults take some twenty minutes. Needs PostgreSQL's programs, as Debian installs them.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ledger import SETTLE_TIMEOUT_S, Ledger, SentMessage
from rig import (
    CONNECTION_ERRORS,
    TIMEOUT_S,
    Closed,
    RawConnection,
    Server,
    print_broken,
    run_arena,
    run_tasks,
    start_bot,
)
from toolkit import option, read_options

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from arena.server.nodes import rendezvous_weight
from arena.server.stall_guard import MAX_STALL_S as MOST_FROZEN
from arena.store.database_url import open_database_url
from arena.store.node_store import NODE_LEASE_S
from arena.store.nodes import list_nodes
from arena.store.registry import revoke_bots
from arena.store.store import Reader, Store
from machine.event_loop import call_after_reading
from postgres import PostgresServer, postgres_server

NODES = ("a", "b", "c")
"""The names of the nodes of the arena."""
GAMES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("nim", {}),
    ("tictactoe", {}),
    ("dilemma", {"rounds": 20}),
    ("kuhn", {"preset": "short"}),
)
"""The games that the players play, each with its config."""
PLAYERS_PER_GAME = 3
"""The number of players of each game of `GAMES`."""
SLOTS = 3
"""The number of matches that a player plays at a time."""
ANSWER_TIMEOUT_S = 8.0
"""Seconds of silence after which a player that waits for an answer gives up a node."""
IN_FLIGHT_S = 0.5
"""Maximum seconds until everything that a node sent before it was frozen has arrived."""
MAX_MOVE_AFTER_KILL_S, MAX_MOVE_AFTER_FREEZE_S, MAX_REVOKE_S = 15.0, 30.0, 1.0
"""The arena's time limits after a fault, in seconds. If a node is killed, other nodes must take over the pairing for
its games within `MAX_MOVE_AFTER_KILL_S`. If it is frozen beyond its lease, they must do so within
`MAX_MOVE_AFTER_FREEZE_S`. A revoked bot must have left all nodes within `MAX_REVOKE_S`.
"""
FAULT_WEIGHTS = {
    "kill -9": 8,
    "kill -9, started again at once": 4,
    "SIGSTOP, a short one": 4,
    "SIGSTOP, beyond the lease": 4,
    "a crash of PostgreSQL": 3,
    "a volume deleted": 2,
    "two processes of one name": 2,
    "a bot revoked": 3,
}
"""The relative frequencies of the kinds of faults."""


@dataclass
class Node:
    """A server of the arena. It is dead if this program froze it for longer than its lease, and has read what it sent
    before. A dead server must send nothing.
    """

    name: str
    server: Server
    is_dead: bool = False
    zombie_frames: int = 0


@dataclass
class Started:
    """The start of a match: its game, its node and the time (monotonic clock, seconds)."""

    game: str
    node: Node
    at: float


@dataclass
class Figures:
    """A log of everything that was sent to the players, and all measurements."""

    ledger: Ledger = field(default_factory=Ledger)
    starts: dict[str, Started] = field(default_factory=dict)
    move_times_s: dict[str, list[float]] = field(default_factory=dict)
    """The seconds from each fault of a node until another node began a match of this node's games, by kind of fault."""
    revoke_times_s: list[float] = field(default_factory=list)
    """The seconds until each revoked bot had left all nodes."""
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """This event is set whenever a match starts."""

    def add_start(self, told: dict[str, Any], node: Node, game: str) -> None:
        """Record that a match of a game began or resumed on a node."""
        started = self.starts.setdefault(told["match"], Started(game, node, time.monotonic()))
        self.ledger.starts.setdefault(told["match"], started.at)
        self.begun.set()
        self.begun.clear()


class NodePlayer:
    """A bot that is connected to all nodes and plays random moves. If a node redirects its seek, it seeks at the node
    named in the redirection. It reconnects when it is cut off.
    """

    def __init__(
        self, name: str, nodes: list[Node], game: str, config: dict[str, Any], figures: Figures, pace: float
    ) -> None:
        self.name = name
        self.seeking = True
        self.seats: dict[str, Node] = {}
        """The node on which each running match of the bot is played, by match id."""
        self._nodes = nodes
        self._game = game
        self._config = config
        self._figures = figures
        self._pace = pace
        self._random = random.Random(name)
        self._connections: dict[str, RawConnection] = {}
        """The connection to each node, by the node's name."""
        self._seeks: dict[str, str] = {}
        """The name of the node to which each seek was sent, by the id of the seek."""
        self._pairing = self._random.choice(nodes).name
        self._sought = 0

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for node in self._nodes:
                group.create_task(self._visit(node))

    async def _visit(self, node: Node) -> None:
        while True:
            try:
                raw = await RawConnection.enter(node.server.port, self.name, slots=SLOTS)
            except CONNECTION_ERRORS:
                await asyncio.sleep(0.1)
                continue
            try:
                if raw.welcome["type"] == "welcome":
                    await self._play(raw, node)
                else:
                    await asyncio.sleep(0.3)
            except CONNECTION_ERRORS:
                await asyncio.sleep(0.05)
            finally:
                self._connections.pop(node.name, None)
                self._seeks = {ref: at for ref, at in self._seeks.items() if at != node.name}
                raw.close()

    async def _play(self, raw: RawConnection, node: Node) -> None:
        self.seats = {match: at for match, at in self.seats.items() if at is not node}  # they are announced again
        self._connections[node.name] = raw
        while True:
            self._seek()
            try:
                async with asyncio.timeout(ANSWER_TIMEOUT_S):
                    told = await raw.receive()
            except TimeoutError:
                if node.name in self._seeks.values():
                    raise
                continue
            if node.is_dead:
                node.zombie_frames += 1
            await self._answer(raw, node, told)

    async def _answer(self, raw: RawConnection, node: Node, told: dict[str, Any]) -> None:
        match told["type"]:
            case "start":
                self._seeks.pop(told.get("seek") or "", None)
                self._figures.add_start(told, node, self._game)
                self.seats[told["match"]] = node
                raw.send(type="ready", match=told["match"])
            case "turn":
                self._figures.ledger.turns.append(SentMessage(self.name, told))
                if "legal" in told:
                    await asyncio.sleep(self._pace)
                    move = self._random.choice(told["legal"])
                    raw.send(type="move", match=told["match"], ply=told["ply"], move=move)
            case "end":
                self._figures.ledger.ends.setdefault(told["match"], []).append(SentMessage(self.name, told))
                self.seats.pop(told["match"], None)
            case "error":
                await self._follow_redirect(told)

    async def _follow_redirect(self, error: dict[str, Any]) -> None:
        if self._seeks.pop(error.get("ref") or "", None) is None:
            return
        there = error.get("url") or ""
        found = next((node for node in self._nodes if there.endswith(f":{node.server.port}")), None)
        if found is not None and found.name in self._connections:
            self._pairing = found.name
        else:
            await asyncio.sleep(0.2)

    def _seek(self) -> None:
        if self._pairing not in self._connections:
            self._pairing = self._random.choice(sorted(self._connections))
        playing = sum(
            node.name in self._connections for node in self.seats.values()
        )  # the others resume when their node is back
        while self.seeking and len(self._seeks) + playing < SLOTS:
            self._sought += 1
            self._seeks[f"s{self._sought}"] = self._pairing
            self._connections[self._pairing].send(
                type="seek", id=f"s{self._sought}", game=self._game, config=self._config
            )


class Cluster:
    """The nodes with their database and players, and the faults inflicted on them."""

    def __init__(self, postgres: PostgresServer, seed: int, pace: float) -> None:
        self.figures = Figures()
        self.faults: Counter[str] = Counter()
        self.broken: list[str] = []
        self.forgotten: set[str] = set()
        """The matches that were called off because their node's volume was lost."""
        self._postgres = postgres
        self._url = postgres.url("arena")
        self._random = random.Random(seed)
        self.nodes = [self._make_node(name) for name in NODES]
        self.players = [
            NodePlayer(f"player-{game}-{number}", self.nodes, game, config, self.figures, pace)
            for game, config in GAMES
            for number in range(PLAYERS_PER_GAME)
        ]

    def _make_node(self, name: str) -> Node:
        return Node(name, Server("--clock", "5+0.2", "--db", self._url, "--node", name))

    async def run(self, faults: int) -> None:
        """Run `faults` random faults one after the other, then let all matches end."""
        await asyncio.gather(*(self._start(node) for node in self.nodes))
        programs = {  # each knows the address of one node only
            name: start_bot(name, node.server.url, "--game", "tictactoe")
            for name, node in zip(("random", "greedy"), self.nodes, strict=False)
        }
        try:
            async with run_tasks(*(player.run() for player in self.players)):
                await self._wait_until_begun({game for game, _ in GAMES}, TIMEOUT_S)
                while self.faults.total() < faults:
                    await asyncio.sleep(self._random.uniform(0.5, 2.0))
                    fault = self._random.choices(list(FAULT_WEIGHTS), weights=list(FAULT_WEIGHTS.values()))[0]
                    print(f"{self.faults.total() + 1:4} {fault}", flush=True)
                    await self._cause_fault(fault)
                    self.faults[fault] += 1
                self.broken += [
                    f"the program of {name} ended" for name, one in programs.items() if one.poll() is not None
                ]
                for program in programs.values():
                    program.kill()
                await self._finish_matches()
        finally:
            for program in programs.values():
                program.kill()
            for node in self.nodes:
                node.server.stop()

    async def _cause_fault(self, fault: str) -> None:
        node = self._random.choice(self.nodes)
        match fault:
            case "kill -9":
                await self._wait_without_node(node, "kill -9", MAX_MOVE_AFTER_KILL_S)
                await self._start(node)
            case "kill -9, started again at once":
                node.server.kill()
                await self._start(node)
            case "SIGSTOP, a short one":
                await self._freeze(node, self._random.uniform(1.0, MOST_FROZEN - 1.5))
            case "SIGSTOP, beyond the lease":
                await self._freeze(node, self._random.uniform(NODE_LEASE_S + 2.0, 20.0))
            case "a crash of PostgreSQL":
                await asyncio.to_thread(self._postgres.stop)
                await asyncio.sleep(self._random.uniform(0.0, 8.0))
                await asyncio.to_thread(self._postgres.start)
                await self._wait_until_begun({game for game, _ in GAMES}, TIMEOUT_S)
            case "a volume deleted":
                await self._lose_volume(node)
            case "two processes of one name":
                await self._start_double(node)
            case "a bot revoked":
                await self._revoke()

    async def _start(self, node: Node) -> None:
        node.is_dead = False
        await asyncio.to_thread(node.server.start)

    async def _wait_without_node(self, node: Node, how: str, most: float, *, since: float | None = None) -> None:
        """Kill a node, then wait until other nodes have begun matches of the games that it paired. If `since` is given,
        do not kill the node, because it has been frozen since this time.
        """
        games = self._games_paired_by(node)
        if since is None:
            since = time.monotonic()
            node.server.kill()
        waits = self.figures.move_times_s.setdefault(how, [])
        for game in games:
            waits.append(await self._wait_until_moved(game, node, since, most))
            if waits[-1] > most:
                self.broken.append(f"{game} was not paired for {waits[-1]:.1f} s after {how}")

    def _games_paired_by(self, node: Node) -> list[str]:
        """Return the games whose matches a node pairs if all nodes are up."""
        return [game for game, _ in GAMES if max(NODES, key=lambda name: rendezvous_weight(name, game)) == node.name]

    async def _wait_until_moved(self, game: str, node: Node, since: float, most: float) -> float:
        """Return the seconds from the time `since` until a match of a game begins on a node other than `node`. Return
        `most` + 1 if no such match begins within this time.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(most + 1.0 - (time.monotonic() - since)):
                while True:
                    for one in self.figures.starts.values():
                        if one.game == game and one.node is not node and one.at > since:
                            return one.at - since
                    await self.figures.begun.wait()
        return most + 1.0

    async def _wait_until_begun(self, games: set[str], most: float) -> None:
        """Wait until a match of each of these games has begun. If it takes over `most` seconds, note an error."""
        since = time.monotonic()
        try:
            async with asyncio.timeout(most):
                while games - {one.game for one in self.figures.starts.values() if one.at > since}:
                    await self.figures.begun.wait()
        except TimeoutError:
            self.broken.append(f"no match of all games began for {most:g} s")

    async def _freeze(self, node: Node, seconds: float) -> None:
        """Freeze a node for `seconds`. If that is longer than the node's lease, the node must exit when it wakes up."""
        process = node.server.process
        process.send_signal(signal.SIGSTOP)
        since = time.monotonic()
        beyond = seconds > NODE_LEASE_S
        waking = asyncio.create_task(self._wake(process, seconds))
        if beyond:
            loop = asyncio.get_running_loop()
            loop.call_later(IN_FLIGHT_S, call_after_reading, loop, partial(setattr, node, "is_dead", True))
            await self._wait_without_node(node, "SIGSTOP", MAX_MOVE_AFTER_FREEZE_S, since=since)
        await waking
        if beyond:
            try:
                code = await asyncio.to_thread(process.wait, TIMEOUT_S)
            except subprocess.TimeoutExpired:
                code = 0
            if code != 75:
                self.broken.append(f"a node that was frozen for {seconds:.1f} s ended with {code}, not 75")
            await self._start(node)
        else:
            await asyncio.sleep(1.0)
            if process.poll() is not None:
                self.broken.append(f"a node that was frozen for {seconds:.1f} s ended")
                await self._start(node)

    async def _wake(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        await asyncio.sleep(seconds)
        process.send_signal(signal.SIGCONT)

    async def _lose_volume(self, node: Node) -> None:
        """Kill a node, delete its data, and tell the arena that its matches are lost."""
        node.server.kill()
        shutil.rmtree(node.server.data)
        node.server.data.mkdir()
        done = await asyncio.to_thread(run_arena, "node", "lost", node.name, "--db", self._url)
        if done.returncode:
            self.broken.append(f"a lost node was not given up: {done.stderr.strip()}")
        self.forgotten.update(line.split(":")[0].strip() for line in done.stdout.splitlines()[1:])
        await self._start(node)

    async def _start_double(self, node: Node) -> None:
        second = self._make_node(node.name)
        try:
            await asyncio.to_thread(second.server.start)
        except RuntimeError as exc:
            if "runs already" not in str(exc):
                self.broken.append(f"a second process of a name ended with {exc}")
        else:
            self.broken.append("a second process of a name was let in")
            second.server.kill()
        if node.server.process.poll() is not None:
            self.broken.append("a node ended as a second process asked for its name")
            await self._start(node)

    async def _revoke(self) -> None:
        name = f"guest-{self.faults.total()}"
        guests = [await RawConnection.enter(node.server.port, name) for node in self.nodes]

        def revoke() -> None:
            with closing(Store.open(self._url)) as store:
                store.write(revoke_bots, [name])

        await asyncio.to_thread(revoke)
        since = time.monotonic()
        for guest in guests:
            with contextlib.suppress(Closed):
                while True:
                    await asyncio.wait_for(guest.receive(), TIMEOUT_S)
        self.figures.revoke_times_s.append(time.monotonic() - since)
        if self.figures.revoke_times_s[-1] > MAX_REVOKE_S:
            self.broken.append(f"a revoked bot was gone after {self.figures.revoke_times_s[-1]:.2f} s")

    async def _finish_matches(self) -> None:
        for player in self.players:
            player.seeking = False
        if hanging := await asyncio.to_thread(self._count_hanging):
            self.broken.append(f"{hanging} matches hang")

    def _count_hanging(self) -> int:
        """Wait for all matches to end. Return how many still run, according to the players or the database."""
        until = time.monotonic() + SETTLE_TIMEOUT_S
        with closing(Reader.open(self._url)) as reader:
            while True:
                known = sum(node.matches for node in reader.read(list_nodes))
                hanging = max(known, len({match for player in self.players for match in player.seats}))
                if not hanging or time.monotonic() > until:
                    return hanging
                time.sleep(0.5)

    def find_errors(self) -> list[str]:
        words = sum(node.zombie_frames for node in self.nodes)
        found = self.figures.ledger.find_errors(self._url, forgotten=self.forgotten)
        return [
            *self.broken,
            *(f"{count} x {what}" for what, count in found.items()),
            *([f"{words} frames of processes that were frozen beyond their lease"] if words else []),
        ]


def main() -> None:
    arguments = read_options(
        __doc__,
        {"faults": 4, "pace": 0.05},
        faults=100,
        pace=option(0.01, "seconds that the players take for a move"),
        seed=1,
    )
    with postgres_server(durable=True) as postgres:
        postgres.execute("CREATE DATABASE arena")
        open_database_url(postgres.url("arena")).create()
        arena = Cluster(postgres, arguments.seed, arguments.pace)
        began = time.perf_counter()
        asyncio.run(arena.run(arguments.faults))
        seconds = time.perf_counter() - began
        broken = arena.find_errors()
    print(
        f"{arena.faults.total()} faults in {seconds:.0f} s:", ", ".join(f"{n} {how}" for how, n in arena.faults.items())
    )
    figures = arena.figures
    print(f"{len(figures.starts):8} matches begun")
    print(f"{len(figures.ledger.turns):8} turns told")
    print(f"{sum(map(len, figures.ledger.ends.values())):8} ends told")
    print(f"{len(arena.forgotten):8} matches called off with a volume")
    for how, waits in figures.move_times_s.items():
        if waits:
            print(f"games are paired elsewhere {min(waits):.1f} to {max(waits):.1f} s after {how} ({len(waits)})")
    if figures.revoke_times_s:
        print(
            f"a revoked bot has left all nodes within {max(figures.revoke_times_s):.2f} s "
            f"({len(figures.revoke_times_s)})"
        )
    sys.exit(print_broken(broken, "nothing lost, nothing doubled, no word of a process that had lost its name"))


if __name__ == "__main__":
    main()
