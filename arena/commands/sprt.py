"""`arena test`: plays pairs of matches until it is clear which of two bots is better. It resumes where it stopped.

In games for more than two, copies of the two bots fill the seats. One bot may also be tested against several in turn.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from math import floor, log10
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from arena.commands.data_dir import find_free_data_dir, open_data_dir
from arena.commands.output import terminal_columns, write_document
from arena.commands.settings import database_url
from arena.commands.sprt_display import Display, format_findings, summarise_findings
from arena.commands.tournament import TournamentRun, tournament_run
from arena.commands.tournament_options import TournamentOptions, TournamentSetup, read_any_format, read_sets
from arena.commands.tournament_report import print_uncontested_losses
from arena.processes.bot_commands import check_names
from arena.ratings.tournament_pairing import TEST_FORMAT
from arena.runs.job import MatchReport
from arena.runs.plan import Plan
from arena.runs.result_writer import luck_of_records
from arena.runs.schedule_limits import MAX_ROUNDS
from arena.sprt.evidence import Evidence, Question, TestedMatch
from arena.sprt.hypotheses import hypotheses_of
from arena.sprt.summary import find_warnings, format_conclusion, format_expected_length, format_joint_conclusion
from arena.store.database_url import open_database_url
from arena.store.match_luck import luck_of_tournament
from arena.store.result_queries import tournament_results
from arena.store.store import Store
from arena.store.tournament_state import find_seeds, finish_tournament
from machine.console import Console
from machine.terminal import say
from measuring.sequential import MIN_ERROR, Verdict
from measuring.value_function import POINTS_UNIT
from measuring.value_registry import default_value_names, load_value
from protocol.bot_launch import bot_name_of, split_bot_word
from protocol.dice import Dice
from protocol.display import format_count
from protocol.errors import UsageFault
from protocol.games import load_game
from protocol.games.base import Game
from protocol.reasons import VOID

DEFAULT_MAX_PAIRS = 10_000
"""Default maximum number of pairs of matches in a test."""
NO_VALUE_NAME = "none"
"""The word that users write in place of a value function's name if luck is left in the results."""


class SprtOptions(TournamentOptions, frozen=True, kw_only=True):
    """The options of `arena test`: those of a tournament of pairs, and further ones."""

    form: str = TEST_FORMAT
    paired: bool = True
    rounds: int = DEFAULT_MAX_PAIRS
    h0: float | None = None
    h1: float | None = None
    unit: str = "score"
    alpha: float = 0.05
    beta: float = 0.05
    value: str | None = None
    pairs: int | None = None
    max_pairs: int | None = None
    plan: bool = False
    pilot: Path | None = None
    seats: int | None = None
    """Number of seats that the first bot takes in a game with more than two seats. None means one."""
    against: Sequence[str] = ()
    """All opponents of the first bot, if this is one of several tests that share the error probabilities; else empty.
    """
    any_folder: bool = False
    """True if the test may fall back to another data folder when another process holds the folder `data`."""


def run(options: SprtOptions) -> None:
    """Play a test, or the rest of it, and print the result. Raise `Fault` if an option is wrong or a bot fails."""
    if options.pilot is not None:
        raise UsageFault(f"--pilot {options.pilot} is for --plan: add --plan")
    tests = [read_options(each) for each in split_by_opponent(in_free_folder(options))]
    check_names([bot_name_of(options.bots[0]), *(_sides(setup)[1][0] for setup, _ in tests)])
    against = _set_seed(tests)
    console = Console(width=terminal_columns())
    documents: list[dict[str, Any]] = []
    verdicts: dict[str, Verdict | None] = {}
    for setup, question in against:
        if documents:
            console.print()
        found = _run(setup, question, console)
        documents.append(found)
        verdicts[_sides(setup)[1][0]] = found["findings"].verdict
    if len(against) == 1:
        document = documents[0]
    else:
        joint = format_joint_conclusion(bot_name_of(options.bots[0]), verdicts, options.h0 or 0.0, options.alpha)
        console.print(f"\n{joint}")
        document = {"conclusion": joint, "tests": documents}
    if options.to_json is not None:
        write_document(options.to_json, document)


def _set_seed(against: Sequence[tuple[TournamentSetup, Question]]) -> list[tuple[TournamentSetup, Question]]:
    """Give all parts of a test the same seed: that of the options, of the newest unfinished test, or a new one."""
    options = against[0][0].options
    if options.seed is not None:
        return [*against]
    with open_data_dir(options.data, options.db) as store:
        stored = store.read(find_seeds, [setup.key for setup, _ in against])
    if stored.open is None and stored.finished is not None:
        say(f"arena: an equal test is finished, --seed {stored.finished} shows it; this is a new one", err=True)
    seed = stored.open or secrets.token_hex(16)
    return [(replace(setup, options=replace(setup.options, seed=seed)), question) for setup, question in against]


def _run(setup: TournamentSetup, question: Question, console: Console) -> dict[str, Any]:
    """Play a test of two bots, print the result, and return it as a document for the JSON file."""
    sides = _sides(setup)
    with tournament_run(setup, question.value) as test:
        plan, store = test.plan, test.store
        evidence = Evidence((sides[0][0], sides[1][0]), question, sides)
        evidence.add_matches(read_samples(store, plan, question.value))
        played = len(evidence.matches)
        if played:
            games = format_count(played, "game was", "games were")
            say(f"arena: {games} played before count too: if a bot has changed, use another --seed", err=True)
        elif (told := format_expected_length(question, evidence.seats, len(sides[0]))) is not None:
            say(f"arena: {told}", err=True)
        if evidence.verdict is None and played < plan.match_count:
            play_on(test, evidence)
        if evidence.verdict is not None or question.hypotheses is None:
            store.write(finish_tournament, plan.id)
    findings = evidence.findings()
    found = format_conclusion(evidence.bots, question, findings)
    warned = list(find_warnings(evidence.bots, findings, *_find_other_presets(plan)))
    console.print(format_findings(plan, evidence, findings))
    console.print(plan.origin)
    results = [sample.result for sample in evidence.matches]
    print_uncontested_losses(console, plan, results, setup.options.data)
    for sentence in (*warned, found):
        console.print(f"\n{sentence}")
    return {
        "tournament": plan.id,
        "seed": plan.seed,
        "arguments": setup.arguments,
        "conclusion": found,
        "warnings": warned,
        "findings": findings,
        "matches": [
            {"luck": _luck_as_json(sample.luck), "result": plan.with_start(sample.result)}
            for sample in evidence.matches
        ],
    }


def in_free_folder(options: SprtOptions) -> SprtOptions:
    """Return the options. If `any_folder` is set and another process holds the data folder, replace the folder by
    another. Keep it if the database is not in it.
    """
    file = open_database_url(database_url(options.db, options.data)).file
    if options.any_folder and file is not None and file.parent == options.data:
        return replace(options, data=find_free_data_dir(options.data))
    return options


def _luck_as_json(luck: tuple[float, ...] | None) -> float | tuple[float, ...] | None:
    """Return the luck of all seats. With two seats, return that of seat 0 only: seat 1 has its negative."""
    return luck[0] if luck is not None and len(luck) == 2 else luck


def split_by_opponent(options: SprtOptions) -> list[SprtOptions]:
    """Split a test of one bot against several opponents into a test against each.

    The tests share the error probabilities equally. The probability of an error in any of them is at most the sum of
    their shares (Bonferroni's inequality). Raise `UsageFault` if a fixed number of pairs is asked for.
    """
    one, *others = options.bots
    if len(others) < 2:
        return [options]
    if options.pairs is not None:
        raise UsageFault("--pairs is for two bots: a test of one against several needs hypotheses")
    alpha, beta = (_share_error(error, len(others)) for error in (options.alpha, options.beta))
    return [replace(options, bots=(one, other), against=others, alpha=alpha, beta=beta) for other in others]


def _share_error(error: float, tests: int) -> float:
    """Return each test's share of an error probability, rounded down to three significant digits."""
    if not 0 < error < 0.5:
        raise UsageFault(f"--alpha and --beta must be above 0 and below 0.5, not {error:g}")
    if error < MIN_ERROR:
        return error  # `Hypotheses` refuses it
    whole = 10.0 ** (2 - floor(log10(error / tests)))
    return floor(error / tests * whole) / whole


def _sides(setup: TournamentSetup) -> tuple[list[str], list[str]]:
    """Return two lists of names: those of the first bot's copies, and those of the second bot's copies."""
    names = [contestant.name for contestant in setup.contestants]
    own = setup.options.seats or 1  # type: ignore[attr-defined]
    return names[:own], names[own:]


def read_samples(store: Store, plan: Plan, value: str | None = None) -> Iterable[TestedMatch]:
    """Return the results and the luck of the matches played so far, in the order of the schedule."""
    results = plan.with_plan_names(store.read(tournament_results, plan.id))
    if plan.rules.seats == 2 or value is None:
        lucks = store.read(luck_of_tournament, plan.id)
    else:
        lucks = luck_of_records(store, (one.match for one in results if one.reason != VOID), value)
    for result in results:
        luck = lucks.get(result.match)
        yield TestedMatch(result, None if luck is None else luck.by_seat)


def play_on(run: TournamentRun, evidence: Evidence) -> None:
    """Play until the test is decided or all its matches are played. Matches after the deciding match do not count."""
    display = Display(run, evidence)
    try:
        with display:
            run.play(run.progress(), display.update, Decision(evidence))
    except KeyboardInterrupt:
        say(f"arena: stopped after {summarise_findings(evidence.findings())}; the same command continues", err=True)
        raise


class Decision(NamedTuple):
    """The goal of a test: the evidence that decides it."""

    evidence: Evidence

    @property
    def is_reached(self) -> bool:
        return self.evidence.verdict is not None

    def take(self, reports: Sequence[MatchReport]) -> Sequence[MatchReport]:
        """Add reports of matches to the evidence until the test is decided. Return the reports that were added."""
        before = len(self.evidence.matches)
        self.evidence.add_matches(
            TestedMatch(report.result, None if report.luck is None else report.luck.by_seat) for report in reports
        )
        return reports[: len(self.evidence.matches) - before]


def read_options(options: SprtOptions) -> tuple[TournamentSetup, Question]:
    """Check the options; return the tournament that they define and the question that it answers.

    Raise `UsageFault` if an option is wrong, and `BotFault` if the game is invalid. Loading the value function for luck
    may take seconds.
    """
    if len(options.bots) != 2:
        raise UsageFault(f"a test needs two bots or more: {len(options.bots)} given")
    fixed = options.pairs is not None
    for word, count in (("--pairs", options.pairs), ("--max-pairs", options.max_pairs)):
        if count is not None and not 1 <= count <= MAX_ROUNDS:
            raise UsageFault(f"{word} is {count}: it is 1 to {MAX_ROUNDS}")
    if fixed and not (options.h0 is options.h1 is options.max_pairs is None):
        raise UsageFault("--pairs plays that many pairs and tests no hypothesis: leave out --h0, --h1 and --max-pairs")
    rounds = options.pairs or options.max_pairs or DEFAULT_MAX_PAIRS
    setup = read_any_format(replace(_with_copies(options), rounds=rounds))
    if not setup.rules.zero_sum:
        name = setup.rules.name
        raise UsageFault(
            "a test compares wins, which are not what counts here: payoffs of "
            f"{name} don't sum to zero under this config: `arena tournament` compares payoffs"
        )
    asked = None if fixed else hypotheses_of(options.h0, options.h1, options.unit, options.alpha, options.beta)
    question = Question(hypotheses=asked, value=_choose_value(options, setup.rules))
    told = msgspec.to_builtins(question) | ({"against": sorted(options.against)} if options.against else {})
    own = {"rounds": rounds if fixed else None, "test": told}
    return replace(setup, further={**setup.further, **own}), question


def _with_copies(options: SprtOptions) -> SprtOptions:
    """Return the options with all seats filled: in a game for more than two, with numbered copies of the two bots.

    Raise `UsageFault` if the seats do not fit the game, or if an option needs a game of two seats.
    """
    seats = load_game(options.game, read_sets(options.game, options.sets, options.preset)[0]).seats
    own = options.seats or 1
    if seats == 2:
        if own != 1:
            raise UsageFault(f"--seats is {own}: {options.game} has two seats under this config, one for each bot")
        return options
    if not 1 <= own < seats:
        raise UsageFault(f"--seats is {own}: the first bot may have 1 to {seats - 1} of the {seats} seats")
    if options.server is not None:
        raise UsageFault("--server is for games of two seats: with more, `arena test` starts copies of the bots itself")
    if options.unit == "nelo":
        raise UsageFault("normalised Elo needs pairs: --unit nelo is for two seats")
    one, other = options.bots
    bots = (*_copies(one, own), *_copies(other, seats - own))
    return replace(options, bots=bots, strict=True if options.strict is None else options.strict)


def _copies(word: str, count: int) -> list[str]:
    name, (_, bot) = bot_name_of(word), split_bot_word(word)
    return [word, *(f"{name}-{number}={bot}" for number in range(2, count + 1))]


def _choose_value(options: SprtOptions, rules: Game[Any, Any]) -> str | None:
    """Return the name of the value function that measures luck; None if luck is left in the results. Raise `UsageFault`
    if the options contradict this choice.
    """
    if options.no_luck_adjustment and options.value is not None:
        raise UsageFault(
            f"--no-luck-adjustment leaves luck in the results, --value {options.value} takes it out: give one of them"
        )
    if options.no_luck_adjustment or (options.value is None and default_value_names(rules)[0] == NO_VALUE_NAME):
        return None
    if options.unit == "nelo":
        raise UsageFault(
            "normalised Elo is computed from results with luck left in: add --no-luck-adjustment to --unit nelo"
        )
    value = load_value(rules, options.value)
    if value.unit != POINTS_UNIT:
        told = f"luck in {rules.name} is counted in what it pays, so it can't be taken out of points"
        raise UsageFault(f"--value {value.name}: {told}")
    name = value.name
    return None if name == NO_VALUE_NAME else name


def _find_other_presets(plan: Plan) -> tuple[list[str], list[str]]:
    """Return two lists: the presets that the plan does not use, and those of them with random starting positions."""
    others = [name for name in plan.rules.presets if name != plan.rules.preset]
    games = {name: load_game(plan.rules.name, {"preset": name}) for name in others}
    return others, [name for name, game in games.items() if game.config_of_deal(Dice(b"", 0)) != game.config]
