"""Kill, freeze and cut off runners at random while hosted and connected bots play on one ladder.

    python benchmarks/hosting/hour.py [--minutes 60] [--bots 40] [--connected 10] [--faults 20] [--seed 1]
        [--logs FOLDER] [--small]

Two runners have slots for all hosted bots each. Both reach the arena through a proxy. One fault at a time happens to
one of them: it is killed and started again; it is frozen with all its processes (SIGSTOP) for a short or a long time;
its connections are cut, and no new ones are let through; or nothing passes any more, though connections stay open.
Then everything that was sent to the connected bots, and the ends that a spectator heard of, are compared with the
store.

The program prints how long the bots of the runner that were in a match were away: from a fault to the next move of
each, or to the end of its match if the opponent ends it. It fails if

- a match is void, or a hosted bot forfeits: none of the programs has a fault,
- a match or its end is lost, stored differently or twice, or ratings do not follow from the matches,
- a match hangs, or a process of a runner outlives it, or
- memory or disk space grow beyond their limits (only in 10 minutes or more).

Needs bubblewrap.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from hosted_arena import HostedArena, Runner, find_languages, folder_mib, format_table, proportional_memory_mib
from ledger import Ledger, RandomPlayer, SentMessage
from rig import CONNECTION_ERRORS, TIMEOUT_S, RawConnection, print_broken, run_arena, run_tasks
from toolkit import option, read_options

from arena.doctor.tcp_proxy import TcpProxy
from arena.store.result_queries import iter_results
from machine.process_tree import process_tree

GAMES = ("nim", "tictactoe")
"""The games that the bots play."""
FAULTS = {
    "killed": (1.0, 10.0),
    "frozen": (2.0, 10.0),
    "frozen for long": (40.0, 60.0),
    "cut off": (2.0, 20.0),
    "silent": (20.0, 40.0),
}
"""The shortest and the longest duration of each fault, in seconds."""
IN_FLIGHT_S = 0.5
"""Maximum seconds until everything that a runner sent before a fault has arrived."""
MAX_AWAY_S = 15.0
"""Seconds after which most bots should play again, whatever happened to their runner."""
DRAIN_TIMEOUT_S = 180
"""Seconds in which all matches have to end."""
SAMPLE_COUNT = 60
"""Number of samples of memory and disk space."""
MIN_GROWTH_MINUTES = 10.0
"""Minutes of a run from which on growth is judged."""
MAX_GROWTH_RATIO = 1.5
"""Maximum ratio of the medians of memory in the last and the second sixth of a run."""
MAX_DISK_MIB_PER_MATCH = 0.1
"""Maximum growth of all files, in MiB per match."""
PLAYED_REASONS = frozenset({"win", "loss", "draw"})
"""The reasons of a seat that played its match to the end."""


class Sample(NamedTuple):
    """Memory and disk space at a time, in MiB: of the server, of all that runs below the runners, and of all files."""

    server: float
    runners: float
    disk: float


class Absences:
    """The seconds after faults until the matches of bots went on, by kind of fault."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.seconds: dict[str, list[float]] = {}
        self._waiting: dict[str, tuple[str, float]] = {}
        """The fault and its time for each bot whose match has not gone on since, by name."""

    def begin(self, kind: str, bots: set[str]) -> None:
        """Note that a fault happens to the runner of these bots, each of which is in a match."""
        now = self._clock()
        self._waiting |= dict.fromkeys(bots, (kind, now))

    def end(self, bot: str, *, is_match_over: bool = False) -> None:
        """End the absence of a bot that has moved, or whose match is over. A move that was sent before the fault does
        not end it. A match that ended by such a move is not counted.
        """
        if bot not in self._waiting:
            return
        kind, began = self._waiting[bot]
        away = self._clock() - began
        if away > IN_FLIGHT_S:
            self.seconds.setdefault(kind, []).append(away)
        if away > IN_FLIGHT_S or is_match_over:
            del self._waiting[bot]

    def still_away(self) -> dict[str, str]:
        """Return the bots whose matches have not gone on since a fault, with the fault."""
        return {bot: kind for bot, (kind, _) in self._waiting.items()}


class Spectator:
    """Watches all matches, and notes starts and ends in a ledger, and moves of bots."""

    def __init__(self, port: int, ledger: Ledger, absences: Absences) -> None:
        self._port = port
        self._ledger = ledger
        self._absences = absences
        self._seats: dict[str, list[str]] = {}
        """The bots of each match that it watches."""
        self._turns: dict[str, tuple[int, int | None]] = {}
        """The ply and the seat to move of each match."""

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            with contextlib.suppress(*CONNECTION_ERRORS):
                await self._watch(await RawConnection.enter(self._port, source="127.0.2.1"))
            await asyncio.sleep(0.2)

    def playing(self) -> set[str]:
        """Return the bots that are in a match."""
        return {bot for seats in self._seats.values() for bot in seats}

    async def _watch(self, raw: RawConnection) -> None:
        try:
            raw.send(type="watch", match="*")
            while True:
                told = await raw.receive("start", "turn", "end")
                match = told["match"]
                if told["type"] == "start" and match not in self._seats:
                    self._ledger.starts.setdefault(match, time.monotonic())
                    self._seats[match] = [seat["bot"] for seat in told["seats"]]
                    raw.send(type="watch", match=match)
                elif told["type"] == "turn" and match in self._seats:
                    self._note_turn(match, told["ply"], told["to_move"])
                elif told["type"] == "end":
                    self._ledger.ends.setdefault(match, []).append(SentMessage("spectator", told))
                    for bot in self._seats.pop(match, ()):
                        self._absences.end(bot, is_match_over=True)
                    self._turns.pop(match, None)
        finally:
            self._seats.clear()
            raw.close()

    def _note_turn(self, match: str, ply: int, to_move: int | None) -> None:
        before, mover = self._turns.get(match, (ply, None))
        if ply > before and mover is not None:
            self._absences.end(self._seats[match][mover])
        self._turns[match] = (ply, to_move)


class Link:
    """A runner and the proxy between it and the arena."""

    def __init__(self, runner: Runner, proxy: TcpProxy) -> None:
        self.runner = runner
        self._proxy = proxy

    async def break_and_mend(self, kind: str, seconds: float) -> None:
        """Let a fault happen, and end it after some seconds."""
        match kind:
            case "killed":
                self.runner.process.kill()
                await asyncio.to_thread(self.runner.process.wait)
                await asyncio.sleep(seconds)
                await asyncio.to_thread(self.runner.start)
            case "frozen" | "frozen for long":
                self.runner.signal_all(signal.SIGSTOP)
                await asyncio.sleep(seconds)
                self.runner.signal_all(signal.SIGCONT)
            case _:
                self._proxy.closes_new_connections = True
                if kind == "silent":
                    self._proxy.fall_silent()
                else:
                    self._proxy.cut()
                await asyncio.sleep(seconds)
                self._proxy.cut()
                self._proxy.closes_new_connections = False

    async def close(self) -> None:
        await self._proxy.close()


class FaultLog:
    """A log of everything that was sent, of the faults, and of memory and disk space."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.absences = Absences()
        self.faults: Counter[str] = Counter()
        self.history: list[str] = []
        """A line for each fault: when it came, to which runner, and for how long."""
        self.samples: list[Sample] = []
        self.hosted: set[str] = set()
        self.left_processes = 0


async def run(options: argparse.Namespace, arena: HostedArena, fault_log: FaultLog) -> None:
    """Have all bots play while runners fail, until all matches are over."""
    links = [await _add_link(arena, options.bots) for _ in range(2)]
    await asyncio.to_thread(_hand_in, arena, options, fault_log)
    port = arena.server.port
    players = [
        RandomPlayer(fault_log.ledger, port, number, GAMES[number % len(GAMES)], pace=options.pause)
        for number in range(options.connected)
    ]
    spectator = Spectator(port, fault_log.ledger, fault_log.absences)
    seconds = 60 * options.minutes
    async with run_tasks(spectator.run(), *(player.run() for player in players)):
        async with run_tasks(_sample(arena, fault_log, seconds)):
            await _let_fail(options, links, spectator, fault_log)
        for player in players:
            player.seeking = False
        await asyncio.to_thread(run_arena, "drain", "--within", str(DRAIN_TIMEOUT_S), "--data", str(arena.server.data))
        with contextlib.suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(arena.server.process.wait, DRAIN_TIMEOUT_S + TIMEOUT_S)
        await asyncio.sleep(1)  # what was sent at the end is read
    below = [process for runner in arena.runners for process in process_tree(runner.process.pid)]
    for runner in arena.runners:
        await asyncio.to_thread(runner.stop)
    fault_log.left_processes = _count_running(below)
    for link in links:
        await link.close()


def _count_running(processes: list[int]) -> int:
    return sum(Path(f"/proc/{process}").exists() for process in processes)


async def _add_link(arena: HostedArena, slots: int) -> Link:
    proxy = TcpProxy(arena.server.port)
    url = f"ws://127.0.0.1:{await proxy.open()}"
    return Link(await asyncio.to_thread(arena.add_runner, slots, url), proxy)


def _hand_in(arena: HostedArena, options: argparse.Namespace, fault_log: FaultLog) -> None:
    """Hand all bots in, and wait for their checks."""
    languages = itertools.cycle(find_languages(options.languages))
    for number in range(options.bots):
        language = next(languages)
        name = f"{language.name}-{number}"
        fault_log.hosted.add(name)
        arena.hand_in(name, language, GAMES[number // 4 % len(GAMES)], options.pause)
    arena.wait_until_checked(sorted(fault_log.hosted))


async def _let_fail(options: argparse.Namespace, links: list[Link], spectator: Spectator, fault_log: FaultLog) -> None:
    """Let runners fail one after another, for the whole run."""
    seconds = 60 * options.minutes
    rng = random.Random(options.seed)
    kinds = _endless_kinds(rng, options.kinds)
    began = time.monotonic()
    for number in range(options.faults):
        until = began + seconds * (number + rng.uniform(0.4, 0.6)) / options.faults
        await asyncio.sleep(max(0.0, until - time.monotonic()))
        kind, link = next(kinds), rng.choice(links)
        duration_s = rng.uniform(*FAULTS[kind])
        fault_log.faults[kind] += 1
        now = datetime.now(UTC)
        fault_log.history.append(f"{now:%H:%M:%S}: {link.runner.folder.name} was {kind} for {duration_s:.0f} s")
        fault_log.absences.begin(kind, link.runner.bots() & spectator.playing())
        await link.break_and_mend(kind, duration_s)
    await asyncio.sleep(max(0.0, began + seconds - time.monotonic()))


def _endless_kinds(rng: random.Random, kinds: list[str]) -> Iterator[str]:
    while True:
        yield from rng.sample(kinds, len(kinds))


async def _sample(arena: HostedArena, fault_log: FaultLog, seconds: float) -> None:
    while True:
        fault_log.samples.append(await asyncio.to_thread(_take_sample, arena))
        await asyncio.sleep(seconds / SAMPLE_COUNT)


def _take_sample(arena: HostedArena) -> Sample:
    below = [process for runner in arena.runners for process in process_tree(runner.process.pid)]
    return Sample(
        proportional_memory_mib(process_tree(arena.server.process.pid)),
        proportional_memory_mib(below),
        folder_mib(arena.server.data, arena.folder),
    )


def judge(arena: HostedArena, fault_log: FaultLog, minutes: float) -> list[str]:
    """Print what happened, and return the claims that don't hold."""
    with arena.server.open_store() as store:
        results = [*store.iterate(iter_results)]
    reasons = Counter(seat.reason for result in results for seat in result.seats if seat.bot in fault_log.hosted)
    with_hosted = sum(any(seat.bot in fault_log.hosted for seat in result.seats) for result in results)
    told = sum(map(len, fault_log.ledger.ends.values()))
    print(
        f"{len(results)} matches, {with_hosted} with hosted bots; {len(fault_log.ledger.turns)} turns, {told} ends told"
    )
    print(f"reasons of the seats of hosted bots: {_list_counts(reasons)}")
    _print_absences(fault_log)
    _print_samples(fault_log.samples)
    broken = [f"{count} hosted bots: {why}" for why, count in reasons.items() if why not in PLAYED_REASONS]
    broken += [f"{result.match} is void" for result in results if result.reason == "void"]
    broken += [
        f"{count} x {what}" for what, count in fault_log.ledger.find_errors(arena.server.data / "arena.db").items()
    ]
    broken += [f"{match} hangs" for match in arena.server.running_matches()]
    still_away = fault_log.absences.still_away()
    broken += [f"the match of {bot} did not go on after its runner was {why}" for bot, why in still_away.items()]
    broken += find_tracebacks(arena.server.log)
    broken += [found for runner in arena.runners for found in find_tracebacks(runner.log)]
    if fault_log.left_processes:
        broken.append(f"{fault_log.left_processes} processes outlive their runners")
    if minutes >= MIN_GROWTH_MINUTES:
        broken += find_growth(fault_log.samples, len(results))
    if broken:
        print(*fault_log.history, sep="\n")
    return broken


def find_tracebacks(log: Sequence[str]) -> list[str]:
    """Return each traceback in a log, with the line before it."""
    found = []
    for number, line in enumerate(log):
        if line.startswith("Traceback"):
            last = next((at for at in range(number + 1, len(log)) if not log[at].startswith(" ")), len(log) - 1)
            found.append("".join(log[max(0, number - 1) : last + 1]).strip())
    return found


def keep_logs(arena: HostedArena, folder: Path) -> None:
    """Write the logs of the server and of the runners to files of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "server.log").write_text("".join(arena.server.log))
    for runner in arena.runners:
        (folder / f"{runner.folder.name}.log").write_text("".join(runner.log))
        clients = runner.folder / "logs"
        if clients.is_dir():
            shutil.copytree(clients, folder / f"{runner.folder.name}-clients", dirs_exist_ok=True)


def _list_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.most_common()) or "none"


def _print_absences(fault_log: FaultLog) -> None:
    rows: list[tuple[str, ...]] = [("runner was", "times", "bots", "p50 s", "longest s", f"over {MAX_AWAY_S:g} s")]
    for kind, count in fault_log.faults.items():
        away = fault_log.absences.seconds.get(kind, [])
        late = sum(seconds > MAX_AWAY_S for seconds in away)
        half, most = (f"{median(away):.1f}", f"{max(away):.1f}") if away else ("", "")
        rows.append((kind, str(count), str(len(away)), half, most, str(late)))
    print("from a fault to the next move of each bot of the runner that was in a match:")
    print(format_table(rows, (20, 8, 8, 9, 12, 11)))


def _print_samples(samples: list[Sample]) -> None:
    at = [0, len(samples) // 3, 2 * len(samples) // 3, len(samples) - 1]
    rows: list[tuple[str, ...]] = [("MiB", "at first", "a third", "two thirds", "at last", "most")]
    for name in Sample._fields:
        values = [getattr(sample, name) for sample in samples]
        rows.append((name, *(f"{values[number]:.0f}" for number in at), f"{max(values):.0f}"))
    print(format_table(rows, (20, 10, 10, 12, 10, 8)))


def find_growth(samples: list[Sample], matches: int) -> list[str]:
    """Return a line for each growth beyond its limit."""
    sixth = max(1, len(samples) // 6)
    broken = []
    for name in ("server", "runners"):
        values = [getattr(sample, name) for sample in samples]
        early, late = median(values[sixth : 2 * sixth]), median(values[-sixth:])
        if late > MAX_GROWTH_RATIO * early:
            broken.append(f"memory of {name} grew from {early:.0f} to {late:.0f} MiB")
    grown = samples[-1].disk - samples[0].disk
    if grown > MAX_DISK_MIB_PER_MATCH * max(matches, 1):
        broken.append(f"the files grew by {grown:.0f} MiB in {matches} matches")
    return broken


def main() -> None:
    small: dict[str, Any] = {"minutes": 1.0, "bots": 4, "connected": 2, "faults": 3, "pause": 0.3}
    small["kinds"] = ["killed", "frozen", "cut off"]
    options = read_options(
        __doc__,
        small,
        minutes=60.0,
        bots=option(40, "hosted bots"),
        connected=option(10, "bots that connect by themselves"),
        faults=20,
        kinds=option([*FAULTS], nargs="+", choices=FAULTS),
        languages=["python-bot", "javascript", "c", "shell"],
        pause=option(1.0, "seconds that a bot takes per move"),
        pace=option(240, "matches an hour that the ladder starts for a bot"),
        seed=1,
        logs=option(Path(), "a folder for the logs of the server, the runners and their clients", type=Path),
    )
    if shutil.which("bwrap") is None:
        raise SystemExit("this needs bubblewrap: apt-get install bubblewrap")
    fault_log = FaultLog()
    with HostedArena("--max-matches-per-hour", str(options.pace)) as arena:
        asyncio.run(run(options, arena, fault_log))
        print(
            f"{options.minutes:g} minutes, {options.bots} hosted and {options.connected} connected bots, "
            f"{fault_log.faults.total()} faults"
        )
        broken = judge(arena, fault_log, options.minutes)
        if options.logs != Path():
            keep_logs(arena, options.logs)
    raise SystemExit(print_broken(broken, "nothing void, lost or doubled, and nothing hangs"))


if __name__ == "__main__":
    main()
