"""`arena test --plan`: forecasts a test's length and error rates, and recommends a value function to measure luck by.

It uses pairs that do not count for the test: those of an earlier test of the same bots, of a file, or of a pilot.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from math import floor, log10
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from arena.commands.data_dir import open_data_dir
from arena.commands.output import format_table, terminal_columns, write_document
from arena.commands.sprt import SprtOptions, in_free_folder, play_on, read_options, read_samples
from arena.commands.tournament import tournament_run
from arena.commands.tournament_options import TournamentSetup
from arena.runs.plan import place_of
from arena.runs.schedule_limits import MAX_ROUNDS
from arena.sprt.evidence import Evidence, Question
from arena.sprt.pilot import RAW_NAME, TestForecast, forecast_by_value, pair_means
from arena.sprt.summary import format_amount
from arena.store.result_queries import RecordRemoved, record_of, tournament_results
from arena.store.store import Store
from arena.store.tournament_state import (
    StoredTournament,
    find_similar_tournaments,
    finish_tournament,
    tournament_randomness,
)
from machine.console import Console
from machine.input_file import read_bytes
from machine.terminal import say
from machine.text_encoding import decode
from measuring import score_format
from measuring.luck import luck_of
from measuring.pair_scores import MIN_UNITS
from measuring.sequential import Hypotheses
from measuring.value_registry import quick_value_names
from protocol.errors import UsageFault
from protocol.reasons import VOID
from referee.record import Record
from referee.record_reader import read_record
from referee.result import Result

PILOT_PAIRS = 50
"""Default number of pairs of matches in a pilot."""
MAX_DOCUMENT_BYTES = 1024**3
"""Maximum size in bytes of a file of `arena test --json` that pairs are read from."""
VARYING_ARGUMENTS = ("rounds", "test")
"""The arguments that may differ between a planned test and the earlier test whose pairs it uses as its pilot."""


class _TestFileMatch(Struct):
    result: Result
    luck: float | tuple[float, ...] | None


class _TestFile(Struct):
    """A file that `arena test --json` wrote, with the fields that are read here."""

    seed: str
    arguments: dict[str, Any]
    matches: list[_TestFileMatch]


class Pilot(NamedTuple):
    """Pairs of matches that do not count for the planned test.

    `pairs` has their raw scores, and by value function their scores with luck removed. `origin` says where the pairs
    are from.
    """

    pairs: Mapping[str, Sequence[float]]
    origin: str


def run_plan(options: SprtOptions) -> None:
    """Read or play a pilot, and print the forecast. Raise `Fault` if an option is wrong or there are too few pairs."""
    if options.pairs is not None and not MIN_UNITS <= options.pairs <= MAX_ROUNDS:
        raise UsageFault(f"--pairs is {options.pairs}: with --plan it must be {MIN_UNITS} to {MAX_ROUNDS}")
    if len(options.bots) > 2:
        raise UsageFault(f"--plan takes two bots, and {len(options.bots)} are given: plan each test by itself")
    setup, question = read_options(replace(in_free_folder(options), pairs=None))
    if setup.rules.seats > 2:
        raise UsageFault(f"--plan is for two seats: {setup.rules.name} has {setup.rules.seats} under this config")
    assert question.hypotheses is not None
    most = setup.rounds
    pilot = (
        _read_pilot_file(options.pilot, setup)
        if options.pilot is not None
        else _find_or_play_pilot(options, setup, question)
    )
    few = min(map(len, pilot.pairs.values()))
    if few < MIN_UNITS:
        raise UsageFault(f"{pilot.origin}: only {few} pairs count, and a plan needs {MIN_UNITS}")
    found = forecast_by_value(pilot.pairs, question.hypotheses, most, setup.key)
    advice = _advice(found, question.hypotheses, setup.options.seed or secrets.token_hex(4))
    if options.to_json is not None:
        document = {"arguments": setup.arguments, "pilot": pilot.origin, "pairs": pilot.pairs, "most": most}
        write_document(options.to_json, {**document, "prospects": found, "advice": advice})
    console = Console(width=terminal_columns())
    console.print(f"{pilot.origin}: {few} pairs")
    console.print(_scored(_name(setup), found[0]))
    console.print(_asked(question.hypotheses, most))
    say("\npairs until 50 % and 90 % of the simulated tests decide, if h0 or h1 is true:\n")
    say(f"{_shown(found, most)}\n")
    console.print(advice)


def _read_pilot_file(file: Path, setup: TournamentSetup) -> Pilot:
    try:
        written = msgspec.json.decode(decode(read_bytes(file, MAX_DOCUMENT_BYTES)), type=_TestFile)
        value = written.arguments["test"]["value"]
    except OSError as exc:
        raise UsageFault(f"--pilot {file} can't be read: {exc.strerror}") from exc
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError) as exc:
        why = f"its arguments have no {exc}" if isinstance(exc, KeyError) else exc
        raise UsageFault(f"--pilot {file} is not what `arena test --json` writes: {why}") from exc
    if _without_varying_arguments(written.arguments) != _without_varying_arguments(json.loads(setup.key)):
        raise UsageFault(f"--pilot {file} has other bots, or another game, config or clock, than this test")
    if written.seed == setup.options.seed:
        raise UsageFault(
            f"--pilot {file} has the same --seed {written.seed} as this test, so its games would count twice"
        )
    luck = {one.result.match: one.luck for one in written.matches if isinstance(one.luck, float)}
    results = [one.result for one in written.matches]
    return Pilot(_by_value(results, _name(setup), {value: luck} if value else {}), f"the pairs of {file}")


def _without_varying_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in VARYING_ARGUMENTS}


def _find_or_play_pilot(options: SprtOptions, setup: TournamentSetup, question: Question) -> Pilot:
    """Return the pairs of an earlier test in the data folder, else play a pilot."""
    with open_data_dir(setup.options.data, setup.options.db) as store:
        former = _find_former_test(store, setup)
        if former is not None:
            said = f"an earlier test of these bots, seed {former.seed}, id {former.id}"
            return Pilot(_scores_by_value(store, former.id, former.seed, setup, question), said)
    pairs = PILOT_PAIRS if options.pairs is None else options.pairs
    further = {**setup.further, "rounds": pairs, "test": "pilot"}
    seed = None if options.seed is None else f"{options.seed}-pilot"  # its games are not to be those of the test
    played = replace(setup, options=replace(setup.options, seed=seed), rounds=pairs, further=further)
    with tournament_run(played, None) as test:
        evidence = Evidence((test.plan.names[0], test.plan.names[1]), Question(hypotheses=None, value=None))
        evidence.add_matches(read_samples(test.store, test.plan))
        if len(evidence.matches) < test.plan.match_count:
            play_on(test, evidence)
        test.store.write(finish_tournament, test.plan.id)
        said = f"a pilot, seed {test.plan.seed}, id {test.plan.id}"
        return Pilot(_scores_by_value(test.store, test.plan.id, test.plan.seed, setup, question), said)


def _find_former_test(store: Store, setup: TournamentSetup) -> StoredTournament | None:
    """Return the newest test of these bots with enough pairs.

    Skip tests that the planned test would continue, and those with its seed: their pairs would count twice.
    """
    for one in store.read(find_similar_tournaments, setup.key, VARYING_ARGUMENTS):
        goes_on = not one.finished and one.arguments == setup.key
        if one.seed != setup.options.seed and not goes_on and one.matches >= 2 * MIN_UNITS:
            return one
    return None


def _scores_by_value(
    store: Store, tournament: str, seed: str, setup: TournamentSetup, question: Question
) -> dict[str, list[float]]:
    """Return the scores of a tournament's pairs: raw, and by value function with luck removed."""
    results = store.read(tournament_results, tournament)
    rounds = 1 + max((place_of(result) for result in results), default=0) // setup.rules.seats
    randomness = store.read(tournament_randomness, tournament)
    results = replace(setup, rounds=rounds).plan(tournament, seed, *randomness).with_plan_names(results)
    luck: dict[str, dict[str, float]] = {value: {} for value in _value_names(setup, question)}
    for result in results:
        record = None if result.reason == VOID else _record(store, result.match)
        for value, gave in luck.items():
            if record is not None:
                gave[result.match] = luck_of(record, value).total[0]
    return _by_value(results, _name(setup), luck)


def _record(store: Store, match: str) -> Record | None:
    with suppress(RecordRemoved):
        body = store.read(record_of, match)
        return None if body is None else read_record(body, match)
    return None


def _value_names(setup: TournamentSetup, question: Question) -> Iterable[str]:
    options = setup.options
    assert isinstance(options, SprtOptions)
    if question.value is None:
        return ()
    return quick_value_names(setup.rules) if options.value is None else (question.value,)


def _by_value(results: Sequence[Result], bot: str, luck: Mapping[str, Mapping[str, float]]) -> dict[str, list[float]]:
    return {RAW_NAME: pair_means(results, bot), **{value: pair_means(results, bot, of) for value, of in luck.items()}}


def _name(setup: TournamentSetup) -> str:
    return setup.contestants[0].name


def _asked(hypotheses: Hypotheses, most: int) -> str:
    h0, h1 = (format_amount(edge, hypotheses.unit) for edge in (hypotheses.h0, hypotheses.h1))
    errors = f"alpha {hypotheses.alpha:g}, beta {hypotheses.beta:g}"
    return f"h0 ({h0}) against h1 ({h1}), {errors}, at most {most:,} pairs"


def _scored(bot: str, best: TestForecast) -> str:
    by = "" if best.value == RAW_NAME else f", luck-adjusted by {best.value}"
    return f"{bot} scored {score_format.format_score_with_interval(best.score)}{by}"


def _shown(found: Sequence[TestForecast], most: int) -> str:
    """Return a table of simulated tests, with two rows for each value function: one where h0 is true, one for h1."""
    headers = ("value", "spread", "true", "50 %", "90 %", "wrong", "undecided", "simulated")
    rows = []
    for one in found:
        for truth, simulated in (("h0", one.expected.h0), ("h1", one.expected.h1)):
            by_then = (simulated.median, simulated.percentile_90)
            ends = (f"> {most:,}" if pairs is None else f"{pairs:,}" for pairs in by_then)
            shares = (f"{simulated.errors:.3f}", f"{simulated.undecided:.3f}")
            named = (one.value, f"{one.spread:.4f}") if truth == "h0" else ("", "")
            rows.append((*named, truth, *ends, *shares, simulated.tests))
    return format_table(headers, rows, wrapped_column=0, width=terminal_columns())


def _advice(found: Sequence[TestForecast], hypotheses: Hypotheses, seed: str) -> str:
    best = found[0]
    if len(found) == 1:
        said = f"use --seed {seed}, for new games; the only value function to use is {best.value}"
    else:
        word = "--no-luck-adjustment" if best.value == RAW_NAME else f"--value {best.value}"
        spreads = f"pairs spread least by it ({best.spread:.4f}; by {found[1].value} {found[1].spread:.4f})"
        said = f"use {word} --seed {seed}, for new games: {spreads}"
    larger = _suggest_larger_h1(best, hypotheses)
    return said if larger is None else f"{said}; the bots look far apart, so --h1 {larger:g} takes fewer pairs"


def _suggest_larger_h1(best: TestForecast, hypotheses: Hypotheses) -> float | None:
    """Return a larger h1 if the bots are far apart: the low end of the pilot's interval, rounded down to one digit."""
    least = best.score.low - 0.5
    if hypotheses.unit != "score" or least < 2 * hypotheses.h1:
        return None
    digits = -floor(log10(least))
    return floor(least * 10.0**digits) / 10.0**digits
