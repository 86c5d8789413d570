"""Measure how much attacks on the ladder gain, compared with an honest bot of equal strength under equal conditions.

Ladders with payoffs are simulated by matches of Leduc poker. They show how throw-away names and puppets (bots that lose
on purpose to one bot, their king) change a mean payoff. The opponents' weights are equal (the former rule) or their
numbers of rounds (the present one).

`--haste` divides the server's timeout for `ready` and its pauses. Scores are mu - 3 sigma, with the 95 % interval of
the mean over the rounds.
Usage: python benchmarks/reliability/fair_ladder.py [--rounds 10] [--seconds 20] [--haste 20] [--payoffs] [--small]
Exit status 1 if an attack

- gained more than the honest bot, by more than the interval,
- took a tenth of the matches of other bots,
- changed the mean payoff of an honest bot by a tenth of a chip per hand, or
- put a king in the first place of a ladder with payoffs by means of one puppet.

A small run is too short to judge the two attacks that depend on chance.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import math
import operator
import random
import secrets
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rig import TIMEOUT_S, RawConnection, Server, parse_options

from arena.store.pool_payoffs import pool_payoff
from games.poker.rules import Poker, PokerState
from measuring.payoffs import PairPayoffs, TotalPayoff, mean_of_rounds, pair_payoffs
from protocol.dice import Dice
from protocol.games import load_game
from protocol.messages import CHANCE

HASTY_SERVER_CODE = """
from arena import cli
from functools import partial
from arena.commands import serve
from arena.host.timeouts import HostTimeouts
from arena.lobby.policy import LobbyPolicy
from referee.match import MatchTimeouts
ready = MatchTimeouts(ready_timeout_s=MatchTimeouts().ready_timeout_s / {haste})
serve.HostTimeouts = partial(HostTimeouts, match=ready)
names = ("first_pause_s", "max_pause_s", "max_address_pause_s", "missed_match_ttl_s")
pauses = {{name: getattr(LobbyPolicy(), name) / {haste} for name in names}}
serve.LobbyPolicy = partial(LobbyPolicy, **pauses)
cli.main()
"""
"""The program of a server in which the timeout for `ready` and all pauses are divided by `haste`."""
RATED_PER_PAIR = 50
"""The maximum number of rated matches of a pair of bots, which the server gets as an option."""
NO_DICE = Dice(bytes(32), 0)
"""The dice to pass to the rules for moves, which use no dice."""
TROLL_COUNT = 6
"""The number of trolls: bots that seek matches but never move, and so waste their opponents' time."""
HONEST_COUNT = 8
"""The number of honest bots that the trolls attack."""
MOVE_DELAY_S = 0.02
"""Seconds that the honest bots take per move while trolls attack."""

HANDS = 100
"""The number of hands in a match of Leduc poker."""
HONEST_OPPONENTS, HONEST_MATCHES = 5, 4
"""On a ladder with payoffs, each honest bot has `HONEST_OPPONENTS` opponents, and plays `HONEST_MATCHES` matches
against each of them.
"""
MAX_MEAN_CHANGE_CHIPS = 0.1
"""Maximum change that throw-away names may cause in a bot's mean payoff, on average, in chips per hand."""

ChooseMove = Callable[[dict[str, Any]], dict[str, Any]]
Policy = Callable[[Poker, PokerState, random.Random], str]


@dataclass
class LadderPlayer:
    """A bot that plays one match after the other, and counts its rated and its unrated matches."""

    raw: RawConnection
    name: str
    choose: ChooseMove
    only_seat: int | None = None
    """The only seat on which the bot plays; on the other one it stays silent. None means both seats."""
    resigns: bool = False
    pace: float = 0.0
    haste: float = 1.0
    rated: int = 0
    unrated: int = 0
    score: float = 0.0
    reasons: list[str] = field(default_factory=list)

    @classmethod
    async def enter(
        cls, server: Server, name: str, choose: ChooseMove, *, source: str = "127.0.0.1", **more: Any
    ) -> LadderPlayer:
        return cls(await RawConnection.enter(server.port, name, source=source), name, choose, **more)

    async def play(self, preset: str, *, count: int | None = None, rated: bool = True) -> None:
        while count is None or len(self.reasons) < count:
            await self._play_match(preset, rated)

    async def _play_match(self, preset: str, rated: bool) -> None:
        self.raw.send(type="seek", id="s", game="nim", config={"preset": preset}, rated=rated)
        told = await self.raw.receive("start", "error")
        if told["type"] == "error":  # a pause
            await asyncio.sleep(1 / self.haste)
            return
        if self.resigns:
            self.raw.send(type="resign", match=told["match"])
        elif self.only_seat in (None, told["seat"]):
            self.raw.send(type="ready", match=told["match"])
        counts = told["rated"]
        while (told := await self.raw.receive("turn", "end"))["type"] == "turn":
            await asyncio.sleep(self.pace)
            self.raw.send(type="move", match=told["match"], ply=told["ply"], move=self.choose(told))
        self.reasons.append(told["reason"])
        mine = next(seat for seat in told["seats"] if seat["bot"] == self.name)
        self.score = mine["mu_after"] - 3 * mine["sigma_after"] if "mu_after" in mine else self.score
        self.rated += counts
        self.unrated += not counts


def choose_perfect(turn: dict[str, Any]) -> dict[str, Any]:
    """Return the best move of nim without a limit on the counters that a move takes. In the preset `classic`, the first
    player wins with these moves.
    """
    heaps = turn["state"]["heaps"]
    nimber = functools.reduce(operator.xor, heaps)
    for heap, size in enumerate(heaps):
        if nimber and size ^ nimber < size:
            return {"heap": heap, "take": size - (size ^ nimber)}
    return choose_first(turn)


def choose_first(turn: dict[str, Any]) -> dict[str, Any]:
    move: dict[str, Any] = turn["legal"][0]
    return move


def read_leaderboards(server: Server) -> dict[str, set[str]]:
    command = [sys.executable, "-m", "arena", "leaderboard", "--json", "--data", str(server.data)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {board["pool"]: {row["bot"] for row in board["rows"]} for board in json.loads(said)}


async def attack_as_king(server: Server, options: argparse.Namespace) -> bool:
    """Attack: throw-away bots (puppets) resign to another bot of the attacker (the king), on a preset that no other bot
    seeks. For comparison, an honest bot (the champion) beats as many newcomers by playing. Return whether the king's
    score is at most 0.5 above the champion's, and the king is on the leaderboard of that preset only.
    """
    others = [await LadderPlayer.enter(server, f"other-{number}", choose_perfect) for number in (0, 1)]
    await asyncio.gather(*(other.play("classic", count=4) for other in others))
    scores = []
    for name, preset, resigns in (("king", "sticks", True), ("champion", "min-nim", False)):
        best = await LadderPlayer.enter(server, name, choose_perfect_min_nim)
        playing = asyncio.create_task(best.play(preset, count=options.puppets))
        for number in range(options.puppets):
            weak = await LadderPlayer.enter(server, f"{name}-{number}", choose_worst, resigns=resigns)
            await asyncio.wait_for(weak.play(preset, count=1), TIMEOUT_S)
            weak.raw.close()
        await asyncio.wait_for(playing, TIMEOUT_S)
        scores.append(best.score)
    crowned, honest = scores
    places = [pool for pool, bots in read_leaderboards(server).items() if "king" in bots]
    print(
        f"king of a preset nobody seeks   score {crowned:.2f}, in {', '.join(places)} alone; "
        f"a champion by play {honest:.2f}"
    )
    return places == ["nim/sticks"] and crowned <= honest + 0.5


def choose_perfect_min_nim(turn: dict[str, Any]) -> dict[str, Any]:
    """Return the best move of nim if a move takes 1 to 3 counters."""
    heaps = turn["state"]["heaps"]
    nimber = functools.reduce(operator.xor, (size % 4 for size in heaps))
    for move in turn["legal"]:
        if nimber and (heaps[move["heap"]] - move["take"]) % 4 ^ heaps[move["heap"]] % 4 ^ nimber == 0:
            return dict(move)
    return choose_first(turn)


def choose_worst(turn: dict[str, Any]) -> dict[str, Any]:
    """Return a move of nim that leaves the opponent a won position, if there is one."""
    heaps = turn["state"]["heaps"]
    nimber = functools.reduce(operator.xor, (size % 4 for size in heaps))
    for move in turn["legal"]:
        if (heaps[move["heap"]] - move["take"]) % 4 ^ heaps[move["heap"]] % 4 ^ nimber:
            return dict(move)
    return choose_first(turn)


async def attack_as_dodger(server: Server, options: argparse.Namespace) -> bool:
    """Attack: two perfect players meet in a game that the first player wins. The attacker stays silent unless it moves
    first, so it wins all matches that take place. Return whether it gains no more than an honest bot that always
    answers.
    """
    dodging: list[float] = []
    alike: list[float] = []
    for number in range(options.rounds):
        for only, gains in ((0, dodging), (None, alike)):
            names = [f"{'dodger' if only == 0 else 'equal'}-{number}", f"honest-{number}-{only}"]
            pair = [
                await LadderPlayer.enter(server, name, choose_perfect, only_seat=seat, haste=options.haste)
                for name, seat in zip(names, (only, None), strict=True)
            ]
            await asyncio.gather(*(player.play("classic", count=options.matches) for player in pair))
            for player in pair:
                player.raw.close()
            gains.append(pair[0].score - pair[1].score)
    (gain, error), (honest, spread) = mean_and_error(dodging), mean_and_error(alike)
    print(
        f"silent unless it begins         score {gain:+6.2f} ± {error:.2f} against an equal; "
        f"an honest bot {honest:+6.2f} ± {spread:.2f}"
    )
    return options.small or gain - honest <= math.hypot(error, spread)


async def attack_as_pair(server: Server, options: argparse.Namespace) -> bool:
    """Attack: one of two bots keeps resigning to the other. Return whether only `RATED_PER_PAIR` matches were rated."""
    strong = await LadderPlayer.enter(server, "forever", choose_perfect)
    weak = await LadderPlayer.enter(server, "again", choose_first, resigns=True)
    scores = []
    for count in (RATED_PER_PAIR, 2 * RATED_PER_PAIR):
        await asyncio.gather(strong.play("classic", count=count), weak.play("classic", count=count))
        scores.append(strong.score)
    print(
        f"one pair for ever               {strong.rated} of {len(strong.reasons)} matches rated; "
        f"score {scores[0]:.2f} after {RATED_PER_PAIR}, {scores[1]:.2f} after {2 * RATED_PER_PAIR}"
    )
    return strong.rated == RATED_PER_PAIR and scores[0] == scores[1]


async def attack_as_trolls(server: Server, options: argparse.Namespace) -> bool:
    """Attack: silent bots with 64 slots each seek the same matches as honest bots. Return whether the honest bots lose
    at most a tenth of their matches.
    """
    alone: list[int] = []
    beside: list[int] = []
    for number in range(options.rounds):
        for count, finished in ((0, alone), (TROLL_COUNT, beside)):
            finished.append(await _count_honest_matches(server, options, count, f"{number}-{count}"))
    shares = [1 - troubled / max(free, 1) for troubled, free in zip(beside, alone, strict=True)]
    lost, error = mean_and_error(shares)
    print(
        f"{TROLL_COUNT} silent trolls with 64 slots   {sum(beside)} matches of {HONEST_COUNT} honest bots, "
        f"{sum(alone)} without: "
        f"{lost:.1%} ± {error:.1%} lost"
    )
    return options.small or lost - error <= 0.1


async def _count_honest_matches(server: Server, options: argparse.Namespace, trolls: int, label: str) -> int:
    """Return how many matches the honest bots play in `options.seconds`. The trolls connect before the honest bots."""
    silent = [
        asyncio.create_task(_run_troll(server, f"troll-{label}-{number}", options.haste)) for number in range(trolls)
    ]
    honest = [
        await LadderPlayer.enter(server, f"h-{label}-{number}", choose_perfect, pace=MOVE_DELAY_S)
        for number in range(HONEST_COUNT)
    ]
    playing = [asyncio.create_task(player.play("classic", rated=False)) for player in honest]
    await asyncio.sleep(options.seconds)
    for task in (*playing, *silent):
        task.cancel()
    await asyncio.gather(*playing, *silent, return_exceptions=True)
    for player in honest:
        player.raw.close()
    return sum(reason == "win" for player in honest for reason in player.reasons) // 2


async def _run_troll(server: Server, name: str, haste: float) -> None:
    raw = await RawConnection.enter(server.port, name, source="127.0.0.2", slots=64)
    try:
        wanted = [str(number) for number in range(64)]
        while True:
            for seek in wanted:
                raw.send(type="seek", id=seek, game="nim", config={"preset": "classic"}, rated=False)
            wanted = []
            told = await raw.receive("end", "error")
            await asyncio.sleep(0.5 / haste)
            wanted = [told.get("ref") or secrets.token_hex(4)]
    finally:
        raw.close()


def choose_sensible(game: Poker, state: PokerState, rng: random.Random) -> str:
    """Return an honest bot's move in Leduc. It bets and calls with a king or a pair, and calls with half of its queens.
    Otherwise it checks or folds.
    """
    assert state.cards is not None
    own = game.rank_of(state.cards[state.seat] or 0)
    legal = game.legal_moves(state)
    strong = own == 2 or (state.public is not None and game.rank_of(state.public) == own)
    if "check" in legal:
        return "bet" if strong and "bet" in legal else "check"
    return "call" if strong or (own == 1 and rng.random() < 0.5) else "fold"


def choose_raise(game: Poker, state: PokerState, rng: random.Random) -> str:
    """Return the move in Leduc of the king, the bot that puppets lose to: raise or bet with any card; call if neither
    is allowed.
    """
    legal = game.legal_moves(state)
    return next(move for move in ("raise", "bet", "call") if move in legal)


def choose_giving(game: Poker, state: PokerState, rng: random.Random) -> str:
    """Return the move in Leduc of a puppet, which loses chips to the king on purpose. In round one it raises, or else
    bets or calls. In round two it bets, or folds if the king has bet.
    """
    legal = game.legal_moves(state)
    order = ("raise", "bet", "call") if state.public is None else ("bet", "fold")
    return next(move for move in order if move in legal)


def play_leduc(policies: Sequence[Policy], rng: random.Random, leaves_at: float | None = None) -> TotalPayoff:
    """Return seat 0's payoff in a match of Leduc. After a hand, seat 1 leaves the match if its mean payoff of the hands
    so far is `leaves_at` chips or more; it never leaves if `leaves_at` is None.
    """
    game = load_game("leduc", {"hands": HANDS})
    assert isinstance(game, Poker)
    state = game.state_before_deal()
    while (to_move := game.to_move(state)) is not None:
        if to_move == CHANCE:
            if (
                state.cards is None
                and leaves_at is not None
                and state.hand
                and state.chips[1] / state.hand >= leaves_at
            ):
                break
            state = rng.choice(game.chance_outcomes(state))[1]
        else:
            state, _ = game.apply(state, policies[to_move](game, state, rng), NO_DICE)
    return TotalPayoff(state.chips[0], state.hand)


class PayoffAttack(NamedTuple):
    """An attack on a ladder with payoffs, by which the attacker changes the mean payoff of one bot. Each of `names`
    throw-away bots plays `matches` matches with this bot. It leaves a match as soon as it is `leaves_at` chips per hand
    ahead; None means never. If `crowns` is true, the throw-away bots are puppets: they lose on purpose, to raise the
    bot's payoff (the bot is their king). Else they play honestly until they leave, to lower it.
    """

    title: str
    names: int
    matches: int
    leaves_at: float | None
    crowns: bool
    leavers: int = 0
    """The number of additional throw-away bots that each lose one hand to the king and then leave."""


PAYOFF_ATTACKS = (
    PayoffAttack("4 names leave when they are ahead", 4, 1, 1.0, False),
    PayoffAttack("20 names leave when they are ahead", 20, 1, 1.0, False),
    PayoffAttack("1 puppet, 10 matches, king else unmet", 1, 10, None, True),
    PayoffAttack("the same, and 2 that leave at once", 1, 10, None, True, leavers=2),
    PayoffAttack("3 puppets, 1 match, king is honest too", 3, 1, None, True),
    PayoffAttack("3 puppets, 10 matches, king is honest too", 3, 10, None, True),
)
"""The simulated attacks on a ladder with payoffs. The last two may succeed, because they cost the attacker several
names, and their matches can't be told from matches with weak opponents.
"""


def measure_payoff_attacks(options: argparse.Namespace) -> bool:
    """Simulate ladders with payoffs under each attack, and print the effects. Return whether all effects are small
    enough.
    """
    print(
        f"\nLeduc, {HONEST_OPPONENTS} honest opponents, {HONEST_MATCHES} matches each; a hand of the bot in question,"
    )
    print(f"± is the 95 % interval of {options.rounds} ladders; first: the share of ladders on which it is")
    print(f"{'':43}{'none':>15}{'before':>15} first{'now':>15} first")
    fair = True
    for attack in PAYOFF_ATTACKS:
        found = [_attacked(attack, random.Random(f"{attack.title}/{number}")) for number in range(options.rounds)]
        without, before, now = (
            mean_and_error([getattr(one, what) for one in found]) for what in ("without", "before", "now")
        )
        firsts = [statistics.fmean(getattr(one, what) for one in found) for what in ("first_before", "first_now")]
        cells = [f"{value:+8.3f} ±{error:5.3f}" for value, error in (without, before, now)]
        print(
            f"{attack.title:43}{cells[0]:>15}{cells[1]:>15} {firsts[0]:5.0%}{cells[2]:>15} {firsts[1]:5.0%}", flush=True
        )
        if not attack.crowns:
            fair = fair and abs(statistics.fmean(one.now - one.without for one in found)) <= MAX_MEAN_CHANGE_CHIPS
        elif attack.names == 1:
            fair = fair and firsts[1] == 0
    return fair


class AttackEffect(NamedTuple):
    """The effect of an attack on a bot. The bot's mean payoff is `without` if there is no attack. Under attack, it is
    `before` if all opponents have equal weights (the former rule), and `now` if opponents' rounds are their weights.
    `first_before` and `first_now` say whether the bot is then first on the ladder.
    """

    without: float
    before: float
    now: float
    first_before: bool
    first_now: bool


def _attacked(attack: PayoffAttack, rng: random.Random) -> AttackEffect:
    only_puppets = attack.crowns and attack.names == 1
    honest = [f"honest-{number}" for number in range(HONEST_OPPONENTS + 1)]
    bot = "king" if only_puppets else honest[0]
    met: defaultdict[str, defaultdict[str, list[TotalPayoff]]] = defaultdict(lambda: defaultdict(list))
    for at, one in enumerate(honest):
        for other in honest[:at]:
            for _ in range(HONEST_MATCHES):
                paid = play_leduc((choose_sensible, choose_sensible), rng)
                met[one][other].append(paid)
                met[other][one].append(TotalPayoff(-paid.total, paid.rounds))
    without = statistics.fmean(pair.mean for pair in _pairs(met[bot])) if met[bot] else 0.0
    policies = (choose_raise, choose_giving) if attack.crowns else (choose_sensible, choose_sensible)
    for name in range(attack.names):
        met[bot][f"name-{name}"] += [play_leduc(policies, rng, attack.leaves_at) for _ in range(attack.matches)]
    for name in range(attack.leavers):
        met[bot][f"leaver-{name}"].append(TotalPayoff(7, 1))
    equal = {name: statistics.fmean(pair.mean for pair in _pairs(met[name])) for name in {*honest, bot}}
    by_rounds = {name: pool_payoff(_pairs(met[name])) for name in {*honest, bot}}
    order = {name: (found.ranked, found.mean) for name, found in by_rounds.items() if found is not None}
    return AttackEffect(
        without,
        equal[bot],
        order[bot][1],
        max(equal, key=lambda name: equal[name]) == bot,
        max(order, key=lambda name: order[name]) == bot,
    )


def _pairs(met: dict[str, list[TotalPayoff]]) -> list[PairPayoffs]:
    return [pair_payoffs(mean_of_rounds(paid), sum(match.rounds for match in paid)) for paid in met.values()]


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean of values, and half the width of its 95 % interval."""
    if len(values) < 2:
        return values[0], math.inf
    return statistics.fmean(values), 1.96 * statistics.stdev(values) / math.sqrt(len(values))


def main() -> int:
    options = _read_options()
    fair = [measure_payoff_attacks(options)]
    if options.payoffs:
        return 0 if all(fair) else 1
    Server.program = ("-c", HASTY_SERVER_CODE.format(haste=options.haste))
    for attack in (attack_as_king, attack_as_dodger, attack_as_pair, attack_as_trolls):
        with Server("--registrations-per-hour", "100000", "--rated-per-pair", str(RATED_PER_PAIR)) as server:
            fair.append(asyncio.run(attack(server, options)))
    return 0 if all(fair) else 1


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--matches", type=int, default=12, help="of the silent bot in a round")
    parser.add_argument("--puppets", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--haste", type=float, default=20.0)
    parser.add_argument("--payoffs", action="store_true", help="only the simulated ladders of payoffs")
    return parse_options(parser, rounds=2, matches=4, puppets=5, seconds=1.0, haste=100.0)


if __name__ == "__main__":
    raise SystemExit(main())
