"""Measure how much attacks on the ladder gain, compared with an honest bot of equal strength under equal conditions.

The arena's lobby pairs the bots in virtual time, and they play Nim in this process. Ladders with payoffs are simulated
by matches of Leduc poker. They show how throw-away names and puppets (bots that lose on purpose to one bot, their king)
change a mean payoff. The opponents' weights are equal (the former rule) or their numbers of rounds (the present one).

Scores are mu - 3 sigma, with the 95 % interval of the mean over the rounds.
Usage: python benchmarks/reliability/fair_ladder.py [--rounds 10] [--seconds 400] [--payoffs] [--small]
Exit status 1 if an attack

- gained more than the honest bot, by more than the interval,
- took a tenth of the matches of other bots,
- changed the mean payoff of an honest bot by a tenth of a chip per hand, or
- put a king in the first place of a ladder with payoffs by means of one puppet.

A small run is too short to judge the two attacks that depend on chance.
"""

from __future__ import annotations

import argparse
import functools
import math
import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from simulated_lobby import SimulatedLobby
from toolkit import mean_and_error, option, read_options

from arena.lobby.effects import StartMatch, Tell
from arena.lobby.events import BotLeft, MatchRated, MatchUnrated, SeatReleased
from arena.lobby.policy import LobbyPolicy
from arena.ratings.rating_system import RatingStanding, rate
from arena.store.pool_payoffs import pool_payoff
from games.nim.rules import Nim, Position, Take
from games.poker.rules import Poker, PokerState
from games.theory.heaps import nim_rule
from games.theory.impartial import outcome
from measuring.payoffs import PairPayoffs, TotalPayoff, mean_of_rounds, pair_payoffs
from protocol.dice import Dice
from protocol.games import load_game
from protocol.messages import CHANCE, Error
from referee.match import MatchTimeouts

RATED_PER_PAIR = 50
"""The maximum number of rated matches of a pair of bots in a day."""
POLICY = LobbyPolicy(rated_per_pair=RATED_PER_PAIR)
"""The policy of the lobby."""
READY_TIMEOUT_S = MatchTimeouts().ready_timeout_s
"""Seconds after which a bot that is silent has missed its match."""
RETRY_DELAY_S = 1.0
"""Seconds after which a bot whose seek was refused, because it is suspended, seeks again."""
NO_DICE = Dice(bytes(32), 0)
"""The dice to pass to the rules for moves, which use no dice."""
TROLL_COUNT = 6
"""The number of trolls: bots that seek matches but never move, and so waste their opponents' time."""
TROLL_SLOTS = 64
"""The number of slots of a troll, and so of its seeks."""
HONEST_COUNT = 8
"""The number of honest bots that the trolls attack."""
MOVE_DELAY_S = 0.4
"""Seconds that bots take per move."""

HANDS = 100
"""The number of hands in a match of Leduc poker."""
HONEST_OPPONENTS, HONEST_MATCHES = 5, 4
"""On a ladder with payoffs, each honest bot has `HONEST_OPPONENTS` opponents, and plays `HONEST_MATCHES` matches
against each of them.
"""
MAX_MEAN_CHANGE_CHIPS = 0.1
"""Maximum change that throw-away names may cause in a bot's mean payoff, on average, in chips per hand."""

ChooseMove = Callable[[Nim, Position], Take]
Policy = Callable[[Poker, PokerState, random.Random], str]


@dataclass
class LadderPlayer:
    """A bot that plays one match after the other on a ladder of Nim, and counts its rated and its unrated matches."""

    name: str
    choose: ChooseMove
    only_seat: int | None = None
    """The only seat on which the bot plays; on the other one it stays silent. None means both seats, -1 none."""
    resigns: bool = False
    pool: str = ""
    count: float = math.inf
    """The number of matches that the bot plays."""
    wants_rated: bool = True
    rated: int = 0
    unrated: int = 0
    complete: int = 0
    """The number of matches that both bots played to the end."""
    standing: RatingStanding = field(default_factory=RatingStanding)

    @property
    def played(self) -> int:
        return self.rated + self.unrated

    @property
    def score(self) -> float:
        return self.standing.mu - 3 * self.standing.sigma


class NimLadder(SimulatedLobby):
    """A ladder of Nim in virtual time. Silent bots miss their matches, and lose them unless both bots are silent."""

    def __init__(self, seed: str) -> None:
        super().__init__(POLICY, random.Random(seed))
        self.players: dict[str, LadderPlayer] = {}
        self.standings: defaultdict[str, dict[str, RatingStanding]] = defaultdict(dict)
        """The standings of the bots with rated matches, by pool and bot."""

    def enter(
        self, name: str, choose: ChooseMove, *, address: str | None = None, slots: int = 1, **more: Any
    ) -> LadderPlayer:
        self.join(name, slots, address)
        self.players[name] = LadderPlayer(name, choose, **more)
        return self.players[name]

    def play(self, player: LadderPlayer, preset: str, count: float = math.inf, *, wants_rated: bool = True) -> None:
        """Let a bot play `count` matches from now on, one after the other in each of its slots."""
        player.pool, player.count, player.wants_rated = f"nim/{preset}", count, wants_rated
        for slot in range(self.lobby.free_slots(player.name)):
            self._seek_again(player, str(slot))

    def run_until_played(self, *players: LadderPlayer) -> None:
        self.run(lambda: all(player.played >= player.count for player in players))

    def start_match(self, effect: StartMatch) -> None:
        seats = list(zip(effect.bots, effect.seeks, strict=True))
        self.rng.shuffle(seats)
        players = [self.players[bot] for bot, _ in seats]
        silent = [player.only_seat not in (None, seat) for seat, player in enumerate(players)]
        self.begin(effect, *(player.name for player, quiet in zip(players, silent, strict=True) if not quiet))
        ranks: Sequence[int] | None = None if all(silent) else [1 + quiet for quiet in silent]
        lasts_s = READY_TIMEOUT_S
        if not any(silent):
            ranks, plies = play_nim(effect.spec.config, players)
            lasts_s = plies * MOVE_DELAY_S
        end = functools.partial(self._end_match, effect, players, [seek for _, seek in seats], silent, ranks)
        self.call_at(self.now + lasts_s, end)

    def _end_match(
        self,
        effect: StartMatch,
        players: Sequence[LadderPlayer],
        seeks: Sequence[str],
        silent: Sequence[bool],
        ranks: Sequence[int] | None,
    ) -> None:
        if ranks is not None and effect.pool is not None:
            self._rate(effect, effect.pool, players, ranks)
        else:
            self.feed(MatchUnrated(effect.match))
        for seat, player in enumerate(players):
            self.feed(SeatReleased(effect.match, player.name, missed=silent[seat], stayed=not silent[seat]))
            player.rated += effect.pool is not None
            player.unrated += effect.pool is None
            player.complete += not any(silent)
        for player, seek in zip(players, seeks, strict=True):
            self._seek_again(player, seek)

    def _rate(self, effect: StartMatch, pool: str, players: Sequence[LadderPlayer], ranks: Sequence[int]) -> None:
        before = [player.standing for player in players]
        ratings = rate(pool, before, [""] * len(players), list(ranks)).seats
        for player, rating in zip(players, ratings, strict=True):
            matches = player.standing.matches + 1
            player.standing = RatingStanding(rating.mu_after, rating.sigma_after, matches)
            self.standings[pool][player.name] = player.standing
        names = tuple(player.name for player in players)
        self.feed(MatchRated(effect.match, pool, names, tuple((one.mu_after, one.sigma_after) for one in ratings)))

    def _seek_again(self, player: LadderPlayer, ref: str) -> None:
        """Let a bot seek its next match; later if it is suspended."""
        if player.played >= player.count or player.name not in self.lobby.roster.online:
            return
        effects = self.seek(player.name, player.pool, rated=player.wants_rated, ref=ref)
        if any(isinstance(effect, Tell) and isinstance(effect.message, Error) for effect in effects):
            self.call_at(self.now + RETRY_DELAY_S, functools.partial(self._seek_again, player, ref))


def play_nim(config: dict[str, Any], players: Sequence[LadderPlayer]) -> tuple[Sequence[int], int]:
    """Play a match of Nim, and return the ranks and the number of moves. A bot that resigns loses at once."""
    if any(player.resigns for player in players):
        return [1 + player.resigns for player in players], 0
    rules = Nim(config)
    position, _ = rules.initial(NO_DICE)
    while (seat := rules.to_move(position)) is not None:
        position, _ = rules.apply(position, players[seat].choose(rules, position), NO_DICE)
    return rules.ranks(position), position.at


def choose_perfect(rules: Nim, position: Position) -> Take:
    """Return a move that leaves the opponent a lost position, if there is one."""
    return _choose_to_leave("P", rules, position)


def choose_worst(rules: Nim, position: Position) -> Take:
    """Return a move that leaves the opponent a won position, if there is one."""
    return _choose_to_leave("N", rules, position)


def choose_first(rules: Nim, position: Position) -> Take:
    return rules.legal_moves(position)[0]


def _choose_to_leave(wanted: str, rules: Nim, position: Position) -> Take:
    legal, rule = rules.legal_moves(position), nim_rule(rules.take)
    results = ((move, rules.apply(position, move, NO_DICE)[0].heaps) for move in legal)
    return next((move for move, heaps in results if outcome(heaps, rule) == wanted), legal[0])


def attack_as_king(options: argparse.Namespace) -> bool:
    """Attack: throw-away bots (puppets) resign to another bot of the attacker (the king), on a preset that no other bot
    seeks. For comparison, an honest bot (the champion) beats as many newcomers by playing. Return whether the king's
    score is at most 0.5 above the champion's, and the king is rated in that preset only.
    """
    ladder = NimLadder("king")
    others = [ladder.enter(f"other-{number}", choose_perfect) for number in (0, 1)]
    for other in others:
        ladder.play(other, "classic", 4)
    scores = []
    for name, preset, resigns in (("king", "sticks", True), ("champion", "min-nim", False)):
        best = ladder.enter(name, choose_perfect)
        ladder.play(best, preset, options.puppets)
        for number in range(options.puppets):
            weak = ladder.enter(f"{name}-{number}", choose_worst, resigns=resigns)
            ladder.play(weak, preset, 1)
            ladder.run_until_played(weak)
            ladder.feed(BotLeft(weak.name))
        ladder.run_until_played(best)
        scores.append(best.score)
    ladder.run_until_played(*others)
    crowned, honest = scores
    pools = [pool for pool, standings in ladder.standings.items() if "king" in standings]
    print(
        f"king of a preset nobody seeks   score {crowned:.2f}, in {', '.join(pools)} alone; "
        f"a champion by play {honest:.2f}"
    )
    return pools == ["nim/sticks"] and crowned <= honest + 0.5


def attack_as_dodger(options: argparse.Namespace) -> bool:
    """Attack: two perfect players meet in a game that the first player wins. The attacker stays silent unless it moves
    first, so it wins all matches that take place. Return whether it gains no more than an honest bot that always
    answers.
    """
    gains: dict[int | None, list[float]] = {0: [], None: []}
    for number in range(options.rounds):
        for only, found in gains.items():
            ladder = NimLadder(f"dodger/{number}/{only}")
            pair = [ladder.enter("dodger", choose_perfect, only_seat=only), ladder.enter("honest", choose_perfect)]
            for player in pair:
                ladder.play(player, "classic", options.matches)
            ladder.run_until_played(*pair)
            found.append(pair[0].score - pair[1].score)
    (gain, error), (honest, spread) = mean_and_error(gains[0]), mean_and_error(gains[None])
    print(
        f"silent unless it begins         score {gain:+6.2f} ± {error:.2f} against an equal; "
        f"an honest bot {honest:+6.2f} ± {spread:.2f}"
    )
    return options.small or gain - honest <= math.hypot(error, spread)


def attack_as_pair(options: argparse.Namespace) -> bool:
    """Attack: one of two bots keeps resigning to the other. Return whether only `RATED_PER_PAIR` matches were rated."""
    ladder = NimLadder("pair")
    strong, weak = ladder.enter("forever", choose_perfect), ladder.enter("again", choose_first, resigns=True)
    scores = []
    for count in (RATED_PER_PAIR, 2 * RATED_PER_PAIR):
        for player in (strong, weak):
            ladder.play(player, "classic", count)
        ladder.run_until_played(strong, weak)
        scores.append(strong.score)
    print(
        f"one pair for ever               {strong.rated} of {strong.played} matches rated; "
        f"score {scores[0]:.2f} after {RATED_PER_PAIR}, {scores[1]:.2f} after {2 * RATED_PER_PAIR}"
    )
    return strong.rated == RATED_PER_PAIR and scores[0] == scores[1]


def attack_as_trolls(options: argparse.Namespace) -> bool:
    """Attack: silent bots with 64 slots each seek the same matches as honest bots. Return whether the honest bots lose
    at most a tenth of their matches.
    """
    alone: list[int] = []
    beside: list[int] = []
    for number in range(options.rounds):
        for count, finished in ((0, alone), (TROLL_COUNT, beside)):
            finished.append(_count_honest_matches(options.seconds, count, f"trolls/{number}"))
    lost, error = mean_and_error([1 - troubled / max(free, 1) for troubled, free in zip(beside, alone, strict=True)])
    print(
        f"{TROLL_COUNT} silent trolls with 64 slots   {sum(beside)} matches of {HONEST_COUNT} honest bots, "
        f"{sum(alone)} without: "
        f"{lost:.1%} ± {error:.1%} lost"
    )
    return options.small or lost - error <= 0.1


def _count_honest_matches(seconds: float, trolls: int, seed: str) -> int:
    """Return how many matches the honest bots play in some seconds. The trolls connect before the honest bots."""
    ladder = NimLadder(seed)
    for number in range(trolls):
        troll = ladder.enter(f"troll-{number}", choose_first, address="trolls", slots=TROLL_SLOTS, only_seat=-1)
        ladder.play(troll, "classic", wants_rated=False)
    honest = [ladder.enter(f"honest-{number}", choose_perfect) for number in range(HONEST_COUNT)]
    for player in honest:
        ladder.play(player, "classic", wants_rated=False)
    ladder.run(lambda: ladder.now >= seconds)
    return sum(player.complete for player in honest) // 2


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


def main() -> int:
    options = read_options(
        __doc__,
        {"rounds": 2, "matches": 4, "puppets": 5, "seconds": 60.0},
        rounds=10,
        matches=option(12, "of the silent bot in a round"),
        puppets=60,
        seconds=option(400.0, "of virtual time beside silent bots"),
        payoffs=option(False, "only the simulated ladders of payoffs"),
    )
    fair = [measure_payoff_attacks(options)]
    if options.payoffs:
        return 0 if all(fair) else 1
    fair += [attack(options) for attack in (attack_as_king, attack_as_dodger, attack_as_pair, attack_as_trolls)]
    return 0 if all(fair) else 1


if __name__ == "__main__":
    raise SystemExit(main())
