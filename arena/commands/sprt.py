"""`arena test`: two bots in pairs of matches until it is clear which is better; goes on where it stopped."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from arena.commands.sprt_options import SprtOptions, read_options
from arena.commands.sprt_report import Conclusion, Display, standing
from arena.commands.text_tables import counted
from arena.commands.tournament_run import TournamentRun, tournament_run
from arena.sprt.evidence import Evidence, Sample
from arena.store.match_luck import luck_of_tournament
from arena.store.result_queries import tournament_results
from arena.store.store import Store
from arena.store.tournament_state import finish_tournament, latest_finished_seed
from arena.tournament.job import MatchReport
from arena.tournament.plan import Plan


def run(options: SprtOptions) -> None:
    """Play a test, or what is missing of it, and print what it found. Raises `Fault`."""
    setup, question = read_options(options)
    with tournament_run(setup, question.value) as test:
        plan, store = test.plan, test.store
        evidence = Evidence((plan.names[0], plan.names[1]), question)
        evidence.take(_stored(store, plan))
        played = len(evidence.matches)
        if played:
            games = counted(played, "game was", "games were")
            print(f"arena: {games} played before, and count: has a bot changed, take another --seed", file=sys.stderr)
        elif setup.seed is None and (seed := store.read(latest_finished_seed, setup.schedule.key)) is not None:
            print(f"arena: a test like this was finished, --seed {seed} shows it; this is another one", file=sys.stderr)
        if evidence.verdict is None and played < plan.count:
            _play(test, evidence)
        if evidence.verdict is not None or question.hypotheses is None:
            store.write(finish_tournament, plan.id)
    end = Conclusion(plan, evidence)
    output = setup.output
    if output.to_json is not None:
        end.write(output.to_json, setup.schedule.arguments)
    end.show(output.data)


def _stored(store: Store, plan: Plan) -> Iterable[Sample]:
    """The matches that were played before, which are the first of the schedule."""
    lucks = store.read(luck_of_tournament, plan.id)
    for result in store.read(tournament_results, plan.id):
        luck = lucks.get(result.match)
        yield Sample(result, None if luck is None else luck.points)


def _play(test: TournamentRun, evidence: Evidence) -> None:
    """Play on until it is decided, or all is played. What was played beyond the deciding match counts for nothing."""
    missing = test.plan.schedule(())[len(evidence.matches) :]
    display = Display(test.plan, evidence)
    try:
        with display:
            for reports in test.play(missing, lambda early: test.save_pending(early, display.console)):
                test.finish(_take(evidence, reports), display.console)
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
