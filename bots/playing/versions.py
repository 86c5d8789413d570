"""`python my_bot.py --against my_bot_old.py`: compares a bot with an older version of it, and says which is better.

Both versions play in this process, without an arena. They play every start from every seat, so that the advantage of a
seat does not count. Only this option imports this module, because a bot that plays at an arena needs no referee."""

from __future__ import annotations

import hashlib
import os.path
import secrets
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from msgspec import Struct, field

from bots.client.bot import Bot
from bots.client.installed import find_installed
from bots.client.loading import build_bot, load_bot
from bots.client.settings import Settings
from bots.client.warm_up import warm_up_bot
from bots.playing.local_match import LocalClient, LocalMatch, make_local_header
from machine.terminal import say
from measuring.elo import compare_scores
from measuring.pair_scores import SideScore, stratify
from measuring.score_format import describe_comparison, format_score_with_interval
from measuring.scores import estimate_score
from protocol.bot_launch import parse_bot_file, parse_bot_spec
from protocol.dice import Dice
from protocol.display import format_count, short_repr
from protocol.errors import UnknownGame, UsageFault
from protocol.games import load_game
from protocol.games.base import Game
from protocol.messages import Clock
from protocol.reasons import FORFEITS, VOID
from referee.result import Result, match_points

DEFAULT_MATCHES = 200
"""The default number of matches between two versions."""
MIN_STARTS = 10
"""The minimum number of start positions played after which the result says which version is better."""
MAX_FORFEIT_SHARE = 0.05
"""The maximum fraction of matches that a version may lose by forfeit. Above it, a warning says that forfeits decide the
comparison."""
PROGRESS_INTERVAL_S = 5.0
"""Seconds between two lines that report the progress of the matches."""
MAX_COMPLAINTS = 3
"""The maximum number of different messages about the faults of one version that are printed."""
CLOCK = Clock(bank_ms=10_000, increment_ms=100)
"""The clock of a match between versions."""


class ComparedVersions(Struct, kw_only=True):
    """The results so far of a comparison of two versions of a bot."""

    seats: int
    scores: list[SideScore] = field(default_factory=list)
    """The bot's score in every match against the other version."""
    starts: int = 0
    courses: set[tuple[Any, ...]] = field(default_factory=set)
    """The distinct outcomes of start positions. An outcome has, for each match, the seats' ranks and reasons and the
    number of plies."""
    forfeits: Counter[str] = field(default_factory=Counter)
    """The number of seats that each version has lost by forfeit, by the version's label."""
    played: Counter[str] = field(default_factory=Counter)
    """The number of seats that each version has played, by the version's label."""

    def take(self, number: int, results: Sequence[Result], labels: Sequence[Sequence[str]]) -> None:
        """Add the results of the start position `number`. It is played once for each seat: the bot sits in seat 0 in
        the first match, in seat 1 in the second, and so on. `labels` has, for each match, the label of the version in
        each seat.
        """
        for result, sat in zip(results, labels, strict=True):
            for seat, label in zip(result.seats, sat, strict=True):
                self.played[label] += 1
                self.forfeits[label] += seat.reason in FORFEITS
        if any(result.reason == VOID for result in results):
            return
        self.starts += 1
        self.courses.add(
            tuple((tuple((seat.rank, seat.reason) for seat in result.seats), result.plies) for result in results)
        )
        for own, result in enumerate(results):
            self.scores.append(SideScore(match_points(result)[own], None, number, (), own))


def compare_versions(bot: Bot, settings: Settings) -> None:
    """Play the bot against another version of it, and say which is better. Raise `UsageFault` if they cannot play."""
    assert settings.against is not None
    if settings.open or settings.opponent is not None:
        raise UsageFault("--against plays on this machine, without an arena: leave out --open and --opponent")
    try:
        rules = load_game(settings.game or next(iter(bot.games), ""), settings.config)
    except UnknownGame as exc:
        raise UsageFault(str(exc)) from exc
    if not rules.zero_sum:
        raise UsageFault(
            f"payoffs of {rules.name} don't sum to zero, so wins don't show which version is better: "
            "compare payoffs on the leaderboard"
        )
    others = [_load(settings.against, rules) for _ in range(rules.seats - 1)]
    bot.check_game(rules)
    labels = _labels(bot, settings.against)
    seed = secrets.token_hex(4) if settings.seed is None else settings.seed
    for each in (bot, *others):
        warm_up_bot(each, rules)
    matches = settings.matches or DEFAULT_MATCHES
    starts = -(-matches // rules.seats)
    table = _Table(rules, bot, others, labels, seed)
    say(f"{starts * rules.seats} matches of {rules.title or rules.name} on this machine, seed {seed}", err=True)
    found = ComparedVersions(seats=rules.seats)
    is_stopped = _play(table, found, starts)
    for line in conclusion(found, labels, rules, is_stopped=is_stopped):
        say(line)


def _play(table: _Table, compared: ComparedVersions, starts: int) -> bool:
    """Play this number of start positions and print the progress. Return whether the user stopped the matches early."""
    told = monotonic()
    try:
        for start in range(starts):
            compared.take(start, *table.play(start))
            if monotonic() - told > PROGRESS_INTERVAL_S and start + 1 < starts:
                told = monotonic()
                done = (start + 1) * compared.seats
                say(f"{done} of {starts * compared.seats} matches; Ctrl-C stops and shows the result so far", err=True)
    except KeyboardInterrupt:
        return True
    return False


def conclusion(
    compared: ComparedVersions, labels: tuple[str, str], rules: Game[Any, Any], *, is_stopped: bool
) -> list[str]:
    """Return sentences that say which version is better, and how far to trust that."""
    one, other = labels
    strata, _ = stratify(compared.scores)
    estimate = estimate_score(strata)
    if estimate is None:
        return [f"{one} and {other} can't be compared: no match was played to its end"]
    best, games = compare_scores(estimate), compared.starts * compared.seats
    scores = f"scores {format_score_with_interval(best)}, after {format_count(games, 'game', 'games')}"
    lines = []
    if compared.starts < MIN_STARTS:
        lines.append(f"{format_count(games, 'game is', 'games are')} too few to say which is better: {one} {scores}")
    elif len(compared.courses) == 1:
        how = "can't be told from" if best.score == 0.5 else "is better than" if best.score > 0.5 else "is worse than"
        lines.append(
            f"from this start {one} {how} {other}: it scores {best.score:.3f}, and its {compared.seats} games took "
            f"the same course all {compared.starts} times; other starts may differ{_other_presets(rules)}"
        )
    else:
        lines.append(describe_comparison(one, other, best, scores))
    if is_stopped:
        lines.append("stopped early: if you stop because of the result, it is wrong more often than in 5 % of cases")
    for label in labels:
        lost, played = compared.forfeits[label], compared.played[label]
        if lost > MAX_FORFEIT_SHARE * played:
            lines.append(
                f"{label} forfeited {lost} of {format_count(played, 'game', 'games')}, by time, "
                "illegal moves or code that failed: that decides more than its play"
            )
    return lines


def _other_presets(rules: Game[Any, Any]) -> str:
    others = [name for name in rules.presets if name != rules.preset]
    return f": --preset {others[0]}" if others else ""


def _load(word: str, rules: Game[Any, Any]) -> Bot:
    """Return the other version of the bot, from the file or name `word`. Raise `UsageFault` if it cannot be loaded."""
    if os.path.isfile(word):
        made = load_bot(Path(word), None, Path(word).stem, {}, {})
    elif word.endswith(".py"):
        raise UsageFault(f"there is no {word}: save a copy of your program there before you change it")
    elif parse_bot_file(word) is None and word.partition(":")[0] not in find_installed():
        also = ", or the name of a reference bot" if find_installed() else ""
        raise UsageFault(
            f"--against is {short_repr(word)}: it must be the file of another version, like my_bot_old.py{also}"
        )
    else:
        made = build_bot(parse_bot_spec(word, ""))
    made.check_game(rules)
    return made


def _labels(bot: Bot, word: str) -> tuple[str, str]:
    """Return the labels of the two versions: the names of their files, if the names differ."""
    program = Path(sys.argv[0]).name
    own = program if program.endswith(".py") else bot.name
    other = Path(word).name if word.endswith(".py") else word
    return (own, other) if own != other else ("this version", word)


class _Table:
    """The two versions of a bot in this process, which play one match after the other."""

    def __init__(
        self, rules: Game[Any, Any], bot: Bot, others: Sequence[Bot], labels: tuple[str, str], seed: str
    ) -> None:
        self._rules, self._seed, self._labels = rules, seed, labels
        self._complaints: dict[str, set[str]] = {label: set() for label in labels}
        self._own = LocalClient(bot, "new", f"{seed}/new", rules, lambda line: self._complain(labels[0], line))
        self._others = [
            LocalClient(
                each, f"old-{number}", f"{seed}/old-{number}", rules, lambda line: self._complain(labels[1], line)
            )
            for number, each in enumerate(others, 1)
        ]

    def play(self, start: int) -> tuple[list[Result], list[list[str]]]:
        """Play a start position with the bot in each seat once. Return the matches' results, and the label of the
        version in each seat of each match.
        """
        dealt = self._rules.config_of_deal(Dice(self._derive(f"start/{start}"), 0))
        game = load_game(self._rules.name, dealt)
        results, sat = [], []
        for own in range(game.seats):
            guests = [*self._others[:own], self._own, *self._others[own:]]
            secret = self._derive(f"dice/{start}/{own}")
            header = make_local_header(f"v-{secret.hex()[:16]}", secret, game, guests, CLOCK)
            results.append(LocalMatch(header, secret, guests).play().result)
            sat.append([self._labels[guest is not self._own] for guest in guests])
        return results, sat

    def _derive(self, what: str) -> bytes:
        return hashlib.sha256(f"{self._seed}/{self._rules.name}/{what}".encode()).digest()

    def _complain(self, label: str, line: str) -> None:
        """Print a message for a version's author, unless it was printed before or there were too many."""
        told = self._complaints[label]
        if line not in told and len(told) < MAX_COMPLAINTS:
            told.add(line)
            say(f"{label}: {line}", err=True)
