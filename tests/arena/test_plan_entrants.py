"""The operator sees who enters a planned tournament, what failed its check, and what came late."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from arena.store import bot_versions, entrants, planned
from arena.store.bot_versions import add_version, begin_check, end_check
from arena.store.plan_entrants import HandedIn, PlanReport, report_plan
from arena.store.planned import PlanDraft, PlannedTerms
from arena.store.registry import register_bot
from arena.store.store import Store
from databases import EVERY_DATABASE

pytestmark = EVERY_DATABASE
BEFORE, NOON, AFTER = (f"2026-11-29T{hour}:00:00.000Z" for hour in ("11", "12", "13"))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A course: ann is in time, ben's second version fails its check, cleo comes late, and dan plays another game."""
    with closing(Store.open(tmp_path / "arena.db")) as store:

        def hand_in(bot: str, time: str, *, game: str = "nim", passed: bool = True, report: str = "") -> None:
            for module in (bot_versions, entrants):
                monkeypatch.setattr(module, "database_now", lambda connection: time)
            manifest = json.dumps({"games": [game]})
            version = store.write(add_version, bot, f"{bot} {time} {passed}", b"", manifest)
            store.write(begin_check, version.id)
            store.write(end_check, version.id, passed=passed, report=report)

        for bot in ("ann", "ben", "cleo", "dan", "eve"):
            store.write(register_bot, bot, bot[0] * 64)
        hand_in("ann", BEFORE)
        hand_in("ben", BEFORE)
        hand_in("ben", BEFORE, passed=False, report="build: passed\nnim: failed: it did not answer")
        hand_in("dan", BEFORE, game="tictactoe")
        hand_in("cleo", AFTER)
        yield store


def report(store: Store, **terms: object) -> PlanReport:
    draft = PlanDraft(title="Cup", terms=PlannedTerms(game="nim", **terms), closes=NOON, starts=NOON)  # type: ignore[arg-type]
    number = store.write(planned.add_plan, draft)
    return store.read(report_plan, store.read(planned.find_plan, number))


def facts(one: HandedIn) -> tuple[object, ...]:
    return one.bot, one.number, one.state, one.why, one.late, one.enters, one.enters_late


def test_before_it_begins_all_that_play_the_game_are_told_with_the_version_that_enters(store: Store) -> None:
    told = report(store)
    assert [facts(one) for one in told.bots] == [
        ("ann", 1, "passed", "", False, 1, False),
        ("ben", 2, "failed", "nim: failed: it did not answer", False, 1, False),
        ("cleo", 1, "passed", "", True, None, False),
    ]
    assert told.notes == [
        f"cleo, version 1, was handed in at {AFTER}, after the deadline: it enters only if late bots may"
    ]
    assert told.absent == ["eve"]
    assert facts(report(store, late=True).bots[2]) == ("cleo", 1, "passed", "", True, 1, True)


def test_of_those_named_or_online_only_these_enter(store: Store) -> None:
    told = report(store, online_bots=["ben"])
    assert [(one.bot, one.enters) for one in told.bots] == [("ann", None), ("ben", 1), ("cleo", None)]
    assert "ann was not online when entries closed: it does not enter" in told.notes
    assert [(one.bot, one.enters) for one in report(store, bots=["Ann"]).bots] == [("ann", 1)]
    refused = report(store, bots=["ann", "zoe"])
    assert refused.notes == ["zoe is no hosted bot, or has no version that passed its check"]
    assert [(one.bot, one.enters) for one in refused.bots] == [("ann", None)]


def test_after_it_began_what_entered_is_told(store: Store) -> None:
    plan = report(store, late=True).plan
    entered = store.read(entrants.find_entrants, "nim", NOON, late=True).entrants
    store.write(planned.begin_plan, plan, '{"game": "nim"}', '{"game": "nim"}', entered[1:], "ann stayed away", None)
    told = store.read(report_plan, store.read(planned.find_plan, plan.id))
    assert [(one.bot, one.enters, one.enters_late) for one in told.bots] == [
        ("ann", None, False),
        ("ben", 1, False),
        ("cleo", 1, True),
    ]
    assert told.notes == ["ann stayed away"]
