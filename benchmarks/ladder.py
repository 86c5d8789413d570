"""Measure how fast a ladder finds the true order of bots with four kinds of pairing: random, former, present and
optimal. The present one is the arena's lobby itself.

Time is simulated: some bots are slow, some come and go. After 5, 10, 20, 50 and 100 matches per bot, the program prints
Kendall's tau between rating and strength, the share of possible pairs that met, and the fewest matches of any bot
divided by the mean. All figures are means over several ladders.

With `--in-rounds`, every bot is present and plays once a round, so that only the pairing differs. The program then
prints the matches per bot until tau reaches 0.6, 0.7, 0.8, 0.85 and 0.9, for random and for optimal pairing. `--spread
0.5` halves the differences between strengths.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from simulated_lobby import SimulatedLobby

from arena.lobby.effects import StartMatch
from arena.lobby.events import BotLeft, MatchRated, SeatReleased
from arena.lobby.ladder_pairing import Seeker, information_gain
from arena.lobby.policy import LobbyPolicy
from arena.ratings.rating_system import BETA, MU, SIGMA, Rating, RatingStanding, rate, skill_overlap

POOL = "nim/classic"
"""The rating pool of the simulated ladder."""
MEASURED_COUNTS = (5, 10, 20, 50, 100)
"""The numbers of matches per bot after which a ladder is measured."""
POLICY = LobbyPolicy()
"""The delays of the lobby, which all kinds of pairing have."""
FAST_MATCH_S, SLOW_MATCH_S = 0.2, 6.0
"""The seconds of a match: `FAST_MATCH_S` between fast bots, `SLOW_MATCH_S` with a slow bot."""
PRESENCE_S, ABSENCE_S = 60.0, 60.0
"""Bots that come and go are present for `PRESENCE_S` seconds, then away for `ABSENCE_S` seconds."""
OLD_MAX_WAIT_S, OLD_NEIGHBOUR_COUNT = 2.0, 16
"""These are settings of the former pairing. A bot was paired with one of the `OLD_NEIGHBOUR_COUNT` bots with the
nearest ratings; after `OLD_MAX_WAIT_S` seconds of waiting, any of them was good enough.
"""

Pair = tuple[Seeker, Seeker]


@dataclass
class Entrant:
    """A bot with its true strength, its standing on the ladder, and its speed."""

    name: str
    strength: float
    seconds: float
    comes_and_goes: bool
    standing: RatingStanding = field(default_factory=RatingStanding)
    met: Counter[str] = field(default_factory=Counter)

    def seeker(self, since: float = 0.0) -> Seeker:
        return Seeker(self.name, self.standing.mu, self.standing.sigma, since, None, self.met, self.met.total())


Pairing = Callable[[Sequence[Seeker], float, Sequence[Seeker], Random], Sequence[Sequence[Seeker]]]


def pair_randomly(waiting: Sequence[Seeker], now: float, playing: Sequence[Seeker], rng: Random) -> list[Pair]:
    mixed = rng.sample(waiting, len(waiting))
    return list(zip(mixed[::2], mixed[1::2], strict=False))


def match_quality(first: Rating, second: Rating) -> float:
    """Return TrueSkill's quality of a match between two bots (Herbrich, Minka, Graepel, NIPS 2006, equation 7)."""
    return math.sqrt(2 * BETA**2 / (2 * BETA**2 + first.sigma**2 + second.sigma**2)) * skill_overlap(first, second)


def pair_as_formerly(waiting: Sequence[Seeker], now: float, playing: Sequence[Seeker], rng: Random) -> list[Pair]:
    """Pair bots as former versions did: each bot with the bot of similar rating for which `match_quality` is highest. A
    bot that has waited for `OLD_MAX_WAIT_S` seconds accepts even a poor match.
    """
    left, pairs = sorted(waiting, key=lambda one: (one.seeking_since, -one.sigma, one.bot)), []
    while left:
        first, mine = left[0], Rating(left[0].mu, left[0].sigma)
        least = 0.5 * max(0.0, 1 - (now - first.seeking_since) / OLD_MAX_WAIT_S)
        near = sorted(left[1:], key=lambda one: abs(one.mu - mine.mu))[:OLD_NEIGHBOUR_COUNT]
        fit = [one for one in near if skill_overlap(mine, Rating(one.mu, one.sigma)) >= least]
        if fit:
            best = max(fit, key=lambda one: match_quality(mine, Rating(one.mu, one.sigma)))
            pairs.append((first, best))
            left.remove(best)
        left.remove(first)
    return pairs


PAIRINGS: Mapping[str, Pairing] = {"random": pair_randomly, "before": pair_as_formerly}
"""The functions that pair bots in simulated time, by the name of the kind of pairing."""
LOBBY = "now"
"""The name of pairing by the arena's lobby."""
RANDOM_ROUNDS = "lots"
"""The name of random pairing in rounds in which every bot plays."""
TAU_TARGETS = (0.6, 0.7, 0.8, 0.85, 0.9)
"""The values of Kendall's tau for which `--in-rounds` prints how many matches per bot are needed to reach them."""
OPTIMAL_ROUNDS = "best"
"""The name of the pairing that takes the most informative pairs, in rounds in which every bot plays."""


class SimulatedLadder:
    """A simulated ladder: its bots, and measurements of how well their ratings fit their strengths. It is measured
    after each number of matches per bot in `MEASURED_COUNTS`.
    """

    def __init__(self, count: int, rng: Random, spread: float = 1.0) -> None:
        self.rng = rng
        self.bots = {
            name: Entrant(
                name,
                rng.gauss(MU, spread * SIGMA),
                SLOW_MATCH_S if number % 4 == 3 else FAST_MATCH_S,
                number % 5 == 4,
            )
            for number, name in enumerate(f"b{number}" for number in range(count))
        }
        self.matches = 0
        self.measurements: dict[int, dict[str, float]] = {}

    @property
    def is_over(self) -> bool:
        return len(self.measurements) == len(MEASURED_COUNTS)

    def play(self, first: str, second: str) -> None:
        """Play and rate a match of two bots. Measure the ladder if one of the `MEASURED_COUNTS` is reached."""
        one, other = self.bots[first], self.bots[second]
        apart = (one.strength - other.strength) / (math.sqrt(2) * BETA)
        won = self.rng.random() < (1 + math.erf(apart / math.sqrt(2))) / 2
        rated = rate(POOL, [one.standing, other.standing], ["", ""], [1, 2] if won else [2, 1]).seats
        for bot, rating in ((one, rated[0]), (other, rated[1])):
            bot.standing = RatingStanding(rating.mu_after, rating.sigma_after, bot.standing.matches + 1)
        self.matches += 1
        if self.matches == self._next_measured_match():
            self.measurements[MEASURED_COUNTS[len(self.measurements)]] = self._measure()

    def _next_measured_match(self) -> int:
        return MEASURED_COUNTS[len(self.measurements)] * len(self.bots) // 2 if not self.is_over else 0

    def _measure(self) -> dict[str, float]:
        bots = list(self.bots.values())
        counts = [bot.standing.matches for bot in bots]
        return {
            "tau": kendall_tau([bot.strength for bot in bots], [bot.standing.mu for bot in bots]),
            "met": sum(len(bot.met) for bot in bots) / (len(bots) * (len(bots) - 1)),
            "least": min(counts) / statistics.mean(counts),
        }


def kendall_tau(strengths: Sequence[float], ratings: Sequence[float]) -> float:
    """Return Kendall's rank correlation of two lists without ties."""
    pairs = list(itertools.combinations(zip(strengths, ratings, strict=True), 2))
    return sum(1 if (a - c) * (b - d) > 0 else -1 for (a, b), (c, d) in pairs) / len(pairs)


def play_in_time(ladder: SimulatedLadder, pairing: Pairing) -> None:
    """Simulate a ladder in time: a free bot seeks a match, and a match takes as long as its slower bot needs."""
    order = itertools.count()
    waiting: dict[str, float] = {}
    playing: set[str] = set()
    events: list[tuple[float, int, tuple[str, ...]]] = [(0.0, next(order), (name,)) for name in ladder.bots]
    looks = math.inf
    while not ladder.is_over:
        if not events or looks <= events[0][0]:
            now, looks = looks, math.inf
            seekers = [ladder.bots[name].seeker(since) for name, since in waiting.items()]
            busy = [ladder.bots[name].seeker() for name in playing if is_present(ladder.bots[name], now)]
            for one, other in pairing(seekers, now, busy, ladder.rng):
                for bot, opponent in ((one.bot, other.bot), (other.bot, one.bot)):
                    del waiting[bot]
                    playing.add(bot)
                    ladder.bots[bot].met[opponent] += 1
                lasts = max(ladder.bots[one.bot].seconds, ladder.bots[other.bot].seconds)
                ends = now + ladder.rng.uniform(0.5, 1.5) * lasts
                heapq.heappush(events, (ends, next(order), (one.bot, other.bot)))
            if len(waiting) > 1:
                looks = now + POLICY.pairing_interval_s
            continue
        now, _, names = heapq.heappop(events)
        if len(names) > 1:  # two names: a match ends; one name: a bot arrives
            playing.difference_update(names)
            ladder.play(names[0], names[1])
        for name in names:
            if is_present(ladder.bots[name], now):
                waiting[name] = now
                looks = min(looks, now + POLICY.new_seek_delay_s)
            else:
                heapq.heappush(events, (now + ABSENCE_S, next(order), (name,)))


class LobbyLadder(SimulatedLobby):
    """A ladder in simulated time whose bots are paired by the arena's lobby."""

    def __init__(self, ladder: SimulatedLadder) -> None:
        super().__init__(POLICY, ladder.rng)
        self._ladder = ladder

    def play(self) -> None:
        for name in self._ladder.bots:
            self.call_at(0.0, partial(self._come_or_go, name))
        self.run(lambda: self._ladder.is_over)

    def start_match(self, effect: StartMatch) -> None:
        self.begin(effect, *effect.bots)
        for name in effect.bots:
            self._ladder.bots[name].met.update(other for other in effect.bots if other != name)
        lasts_s = max(self._ladder.bots[name].seconds for name in effect.bots)
        self.call_at(self.now + self.rng.uniform(0.5, 1.5) * lasts_s, partial(self._end_match, effect))

    def _end_match(self, effect: StartMatch) -> None:
        self._ladder.play(effect.bots[0], effect.bots[1])
        standings = [self._ladder.bots[name].standing for name in effect.bots]
        ratings = tuple((standing.mu, standing.sigma) for standing in standings)
        self.feed(MatchRated(effect.match, POOL, effect.bots, ratings))
        for name in effect.bots:
            self.feed(SeatReleased(effect.match, name, stayed=True))
        for name in effect.bots:
            self._come_or_go(name)

    def _come_or_go(self, name: str) -> None:
        """Let a bot seek its next match if it is present, else leave for a while."""
        if not is_present(self._ladder.bots[name], self.now):
            self.feed(BotLeft(name))
            self.call_at(self.now + ABSENCE_S, partial(self._come_or_go, name))
            return
        if name not in self.lobby.roster.online:
            self.join(name)
        self.seek(name, POOL)


def is_present(entrant: Entrant, now: float) -> bool:
    return not entrant.comes_and_goes or now % (PRESENCE_S + ABSENCE_S) < PRESENCE_S


def play_random_rounds(ladder: SimulatedLadder) -> None:
    while not ladder.is_over:
        names = ladder.rng.sample(list(ladder.bots), len(ladder.bots))
        for one, other in zip(names[::2], names[1::2], strict=False):
            if not ladder.is_over:
                ladder.bots[one].met[other] += 1
                ladder.bots[other].met[one] += 1
                ladder.play(one, other)


def play_optimal_rounds(ladder: SimulatedLadder) -> None:
    while not ladder.is_over:
        pairs = sorted(
            itertools.combinations([bot.seeker() for bot in ladder.bots.values()], 2),
            key=lambda pair: -information_gain(*pair),
        )
        free = set(ladder.bots)
        for one, other in pairs:
            if one.bot in free and other.bot in free and not ladder.is_over:
                free -= {one.bot, other.bot}
                ladder.bots[one.bot].met[other.bot] += 1
                ladder.bots[other.bot].met[one.bot] += 1
                ladder.play(one.bot, other.bot)


def play_ladder(count: int, kind: str, seed: int, spread: float) -> SimulatedLadder:
    """Simulate a ladder of `count` bots with one kind of pairing. The standard deviation of the bots' strengths is
    `spread` times that of the rating system's prior.
    """
    ladder = SimulatedLadder(count, Random(f"{count}/{seed}"), spread)
    if kind == OPTIMAL_ROUNDS:
        play_optimal_rounds(ladder)
    elif kind == RANDOM_ROUNDS:
        play_random_rounds(ladder)
    elif kind == LOBBY:
        LobbyLadder(ladder).play()
    else:
        play_in_time(ladder, PAIRINGS[kind])
    return ladder


def measure_means(count: int, kind: str, ladders: int, spread: float) -> list[dict[str, float]]:
    """Return the mean of each measurement over several ladders, for each of `MEASURED_COUNTS` in order."""
    ended = [play_ladder(count, kind, seed, spread) for seed in range(ladders)]
    return [
        {
            what: statistics.mean(ladder.measurements[after][what] for ladder in ended)
            for what in ("tau", "met", "least")
        }
        for after in MEASURED_COUNTS
    ]


def matches_until(tau_wanted: float, means: Sequence[Mapping[str, float]]) -> float | None:
    """Return the matches per bot until Kendall's tau, which compares the ranking with the true strengths, reaches
    `tau_wanted`. The number is interpolated between `MEASURED_COUNTS`. Return None if tau never reaches `tau_wanted`.
    """
    before, known = 0.0, 0.0
    for after, row in zip(MEASURED_COUNTS, means, strict=True):
        if row["tau"] >= tau_wanted:
            return before + (after - before) * (tau_wanted - known) / (row["tau"] - known)
        before, known = after, row["tau"]
    return None


def print_rounds(count: int, ladders: int, spread: float) -> None:
    """Print the matches per bot that random and optimal pairing need to reach each of `TAU_TARGETS`."""
    print(f"\n{count} bots, strengths of {spread:g} deviations: matches a bot until tau is so much")
    lots, best = (measure_means(count, kind, ladders, spread) for kind in (RANDOM_ROUNDS, OPTIMAL_ROUNDS))
    for wanted in TAU_TARGETS:
        by_lots, by_choice = (matches_until(wanted, means) for means in (lots, best))
        told = "".join(f"{'over 100' if each is None else f'{each:.0f}':>10}" for each in (by_lots, by_choice))
        times = "" if by_lots is None or by_choice is None else f"{by_lots / by_choice:>8.1f} times"
        print(f"{wanted:.2f}{told}{times}", flush=True)


def plot(found: Mapping[int, Mapping[str, Sequence[Mapping[str, float]]]], path: Path) -> None:
    """Plot Kendall's tau over matches per bot, a panel for each number of bots."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 3.2), layout="constrained")
    for axes, (count, rows) in zip(
        figure.subplots(1, len(found), sharey=True, squeeze=False)[0], found.items(), strict=True
    ):
        for (kind, row), mark in zip(rows.items(), "^so*", strict=True):
            axes.plot(
                MEASURED_COUNTS,
                [one["tau"] for one in row],
                marker=mark,
                markersize=4,
                label=kind if count == min(found) else None,
            )
        axes.set_xscale("log", base=2)
        axes.set_xticks(MEASURED_COUNTS, [str(after) for after in MEASURED_COUNTS])
        axes.set_title(f"{count} bots")
        axes.set_xlabel("matches a bot")
        axes.grid(axis="y", color="0.9")
    figure.supylabel("Kendall's tau")
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    with rc_context({"svg.hashsalt": ""}):
        figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bots", type=int, nargs="+", default=[8, 30, 300])
    parser.add_argument("--of-each", type=int, default=1200, help="bots of all ladders of a size: 150 ladders of 8")
    parser.add_argument("--in-rounds", action="store_true", help="only by lot and at best, with everybody there")
    parser.add_argument("--spread", type=float, default=1.0, help="of strengths, in deviations of the prior")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    arguments = parser.parse_args()
    found: dict[int, dict[str, list[dict[str, float]]]] = {}
    for count in arguments.bots:
        if arguments.in_rounds:
            print_rounds(count, max(1, arguments.of_each // count), arguments.spread)
            continue
        print(f"\n{f'{count} bots':8}" + "".join(f"{f'{after} matches':>19}" for after in MEASURED_COUNTS))
        print(" " * 8 + f"{'tau   met  least':>19}" * len(MEASURED_COUNTS))
        found[count] = {}
        for kind in (*PAIRINGS, LOBBY, OPTIMAL_ROUNDS):
            row = found[count][kind] = measure_means(count, kind, max(1, arguments.of_each // count), arguments.spread)
            print(f"{kind:8}" + "".join(f"{r['tau']:8.2f} {r['met']:5.2f} {r['least']:4.2f}" for r in row), flush=True)
    if arguments.plot and found:
        plot(found, arguments.plot)


if __name__ == "__main__":
    main()
