"""`arena test`: two bots in pairs of matches until it is clear which is better; goes on where it stopped."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import closing

from arena.commands.holding import held
from arena.commands.sitting import sitting, workers
from arena.commands.tables import counted
from arena.commands.test_options import Proposal, read_options
from arena.commands.test_report import Conclusion, Display, standing
from arena.commands.tournament_options import surroundings
from arena.store.store import Store
from arena.testing.evidence import Evidence, Sample
from arena.tournament.plan import Plan
from arena.tournament.sandbox import Surroundings
from arena.tournament.terms import MatchReport
from machine.crew.workers import Crew
from machine.prctl import keep_private


def run(options: Proposal) -> None:
    """Play a test, or what is missing of it, and print what it found. Raises `Fault`."""
    keep_private()
    entry, question = read_options(options)
    around = surroundings(options, os.environ)
    with (
        workers(options) as crew,
        held(options.data, options.db) as where,
        closing(Store.open(where)) as store,
    ):
        plan = entry.plan(*store.open_tournament(entry.key, options.seed))
        evidence = Evidence((plan.names[0], plan.names[1]), question)
        evidence.take(_stored(store, plan))
        played = len(evidence.matches)
        if played:
            print(f"arena: {counted(played, 'game was', 'games were')} played before", file=sys.stderr)
        elif options.seed is None and (seed := store.finished_before(entry.key)) is not None:
            print(f"arena: a test like this was finished, --seed {seed} shows it; this is another one", file=sys.stderr)
        if evidence.verdict is None and played < plan.count:
            _play(plan, evidence, store, crew, options, around)
        if evidence.verdict is not None or question.hypotheses is None:
            store.finish_tournament(plan.id)
    end = Conclusion(plan, evidence)
    if options.to_json is not None:
        end.write(options.to_json, entry.arguments)
    end.show(options.data)


def _stored(store: Store, plan: Plan) -> Iterable[Sample]:
    """The matches that were played before, which are the first of the schedule."""
    lucks = store.tournament_luck(plan.id)
    for result in store.tournament_results(plan.id):
        luck = lucks.get(result.match)
        yield Sample(result, None if luck is None else luck.points)


def _play(plan: Plan, evidence: Evidence, store: Store, crew: Crew, options: Proposal, around: Surroundings) -> None:
    """Play on until it is decided, or all is played. What was played beyond the deciding match is not stored."""
    missing = plan.schedule(())[len(evidence.matches) :]
    display = Display(plan, evidence)
    try:
        with display:
            seated = sitting(plan, store, crew, options, around, evidence.question.value, display.console)
            for reports in seated.play(missing):
                seated.keep(_take(evidence, reports))
                display.look()
                if evidence.verdict is not None:
                    break
    except KeyboardInterrupt:
        print(f"arena: stopped after {standing(evidence.findings())}; the same command goes on", file=sys.stderr)
        raise


def _take(evidence: Evidence, reports: Iterable[MatchReport]) -> list[MatchReport]:
    """Take matches up to the one that decides: those."""
    needed = []
    for report in reports:
        if evidence.verdict is not None:
            break
        evidence.take([Sample(report.result, None if report.luck is None else report.luck.points)])
        needed.append(report)
    return needed
