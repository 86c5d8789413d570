"""The store keeps planned tournaments: what waits, what is played, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from arena.store import planned
from arena.store.entrants import HostedEntrant, find_active, tournaments_of_bot
from arena.store.planned import PlanDraft, PlannedTerms, PlannedTournament
from arena.store.registry import StillPlaying, anonymize_bot, rename_bot
from arena.store.store import Store
from arena.store.tournament_state import is_finished
from databases import EVERY_DATABASE
from hosted_bots import hand_in, register
from protocol.errors import UsageFault

pytestmark = EVERY_DATABASE

NOON, NEXT_NOON = "2026-11-29T12:00:00.000Z", "2026-11-30T12:00:00.000Z"
TERMS = PlannedTerms(game="nim", config={"heaps": [1, 2]}, rounds=3, bots=["ann"])
KEYS = ('{"game":"nim"}', "{}")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    register(tmp_path, "ann")
    hand_in(tmp_path, "ann", "# ann")
    store = Store.open(tmp_path / "arena.db")
    yield store
    store.close()


def plan(store: Store, starts: str = NOON, *, nightly: bool = False) -> PlannedTournament:
    draft = PlanDraft(title="Cup", terms=TERMS, closes=NOON, starts=starts, nightly=nightly)
    number = store.write(planned.add_plan, draft)
    return next(one for one in store.read(planned.list_plans) if one.id == number)


def entrant(store: Store, digest: str | None = None) -> HostedEntrant:
    (active,) = store.read(find_active)
    return HostedEntrant(bot="ann", number=1, digest=digest or active.digest, since=NOON)


def test_it_waits_is_played_and_is_over(store: Store) -> None:
    later, first = plan(store, NEXT_NOON), plan(store)
    assert (first.terms, first.state, first.tournament, first.note) == (TERMS, "waiting", None, "")
    assert store.read(planned.open_plans) == [first, later], "in the order of their starts"
    name = store.write(planned.begin_plan, first, *KEYS, [entrant(store)], "zoe was late", None)
    begun, _ = store.read(planned.open_plans)
    assert (begun.state, begun.tournament, begun.note) == ("playing", name, "zoe was late")
    assert store.read(tournaments_of_bot, "ann") == [name]
    assert store.read(planned.read_started, name).arguments == KEYS[0]
    store.write(planned.end_plan, begun)
    assert store.read(is_finished, name)
    assert store.read(planned.open_plans) == [later]
    assert [(one.state, one.note) for one in store.read(planned.list_plans)] == [
        ("over", "zoe was late"),
        ("waiting", ""),
    ]


def test_one_that_has_not_begun_follows_a_renamed_bot_and_one_that_is_played_keeps_its_names(store: Store) -> None:
    waiting, other = plan(store), plan(store)
    store.write(planned.note_online, waiting, ["ann", "bob"])
    store.write(rename_bot, "ann", "Zoe")
    terms = store.read(planned.find_plan, waiting.id).terms
    assert (terms.bots, terms.online_bots) == (["Zoe"], ["bob", "zoe"])
    begun = store.read(planned.find_plan, other.id)
    one = replace(entrant(store), bot="zoe")
    store.write(planned.begin_plan, begun, *KEYS, [one], "", None)
    with pytest.raises(
        StillPlaying, match="Zoe plays in the planned tournament Cup: it can be renamed when that is over"
    ):
        store.write(rename_bot, "Zoe", "ann")
    placeholder = store.write(anonymize_bot, "zoe")
    ended = store.read(planned.find_plan, other.id)
    assert (ended.state, ended.note) == ("failed", f"{placeholder}: its program is gone, as the bot was deleted")
    store.write(planned.end_plan, ended)
    assert store.read(planned.find_plan, other.id) == ended, "its last match ended after that"


def test_one_that_fails_keeps_the_reason_and_its_results(store: Store) -> None:
    first = plan(store)
    name = store.write(planned.begin_plan, first, *KEYS, [entrant(store)], "", None)
    (begun,) = store.read(planned.open_plans)
    store.write(planned.end_plan, begun, "the disk is full")
    (failed,) = store.read(planned.list_plans)
    assert (failed.state, failed.note, failed.tournament) == ("failed", "the disk is full", name)
    assert not store.read(is_finished, name)


def test_one_that_is_played_is_stopped_once_and_keeps_its_notes(store: Store) -> None:
    name = store.write(planned.begin_plan, plan(store), *KEYS, [entrant(store)], "zoe was late", None)
    begun = store.write(planned.remove_plan, 1)
    stopped = store.read(planned.find_plan, 1)
    assert (stopped.state, stopped.tournament) == ("failed", name)
    assert stopped.note.splitlines() == ["zoe was late", "it was stopped by the operator"]
    store.write(planned.end_plan, begun)
    assert store.read(planned.find_plan, 1) == stopped, "its last match ended after that"
    assert store.read(planned.open_plans) == []
    with pytest.raises(UsageFault, match="plan 1 is failed: only one that waits or is played can be removed"):
        store.write(planned.remove_plan, 1)


def test_the_next_of_a_series_is_planned_as_one_begins_or_can_not(store: Store) -> None:
    store.write(planned.begin_plan, plan(store, nightly=True), *KEYS, [], "", (NEXT_NOON, NEXT_NOON))
    _, following = store.read(planned.list_plans)
    assert (following.state, following.closes, following.terms) == ("waiting", NEXT_NOON, TERMS)
    store.write(planned.fail_to_begin, following, "nobody entered", (NOON, NOON))
    assert [one.state for one in store.read(planned.list_plans)] == ["playing", "waiting", "failed"]


def test_it_begins_once_and_not_at_all_if_a_version_is_gone_or_it_was_removed(store: Store) -> None:
    first = plan(store)
    with pytest.raises(UsageFault, match="ann, version 1, is no longer kept"):
        store.write(planned.begin_plan, first, *KEYS, [entrant(store, "gone")], "", (NEXT_NOON, NEXT_NOON))
    assert store.read(planned.list_plans) == [first], "nothing has changed"
    store.write(planned.begin_plan, first, *KEYS, [], "", None)
    with pytest.raises(UsageFault, match="plan 1 has begun, or was changed"):
        store.write(planned.begin_plan, first, *KEYS, [], "", None)
    second = plan(store)
    assert store.write(planned.remove_plan, second.id) == second
    with pytest.raises(UsageFault, match="there is no plan 2"):
        store.write(planned.fail_to_begin, second, "", None)
    with pytest.raises(UsageFault, match=f"there is no plan {2**64}"):
        store.write(planned.remove_plan, 2**64)


def test_one_is_changed_until_it_begins_and_who_was_online_is_noted_for_the_deadline_it_has(store: Store) -> None:
    first = plan(store)
    store.write(planned.note_online, first, {"bob", "ann"})
    noted = store.read(planned.find_plan, first.id)
    assert noted.terms.online_bots == ["ann", "bob"]
    store.write(planned.note_online, first, ())  # too late: it is noted
    draft = PlanDraft(title="Cup", terms=TERMS, closes=NOON, starts=NEXT_NOON)
    store.write(planned.change_plan, first.id, draft)
    changed = store.read(planned.find_plan, first.id)
    assert (changed.starts, changed.terms.online_bots) == (NEXT_NOON, ["ann", "bob"])
    with pytest.raises(UsageFault, match="plan 1 has begun, or was changed"):
        store.write(planned.begin_plan, noted, *KEYS, [], "", None)
    store.write(planned.change_plan, first.id, replace(draft, closes=NEXT_NOON))
    later = store.read(planned.find_plan, first.id)
    assert later.terms == TERMS
    store.write(planned.begin_plan, later, *KEYS, [], "", None)
    with pytest.raises(UsageFault, match="plan 1 is playing: only one that waits can be changed"):
        store.write(planned.change_plan, first.id, draft)


def test_there_are_not_too_many_that_wait(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned, "MAX_PLANS", 2)
    plan(store)
    plan(store)
    with pytest.raises(UsageFault, match="2 tournaments are planned, which is the most: remove one"):
        plan(store)


def test_a_plan_invites_no_other_bot_that_takes_the_name_of_a_deleted_one(store: Store) -> None:
    plan = store.write(planned.add_plan, PlanDraft(title="Cup", terms=TERMS, closes=NOON, starts=NOON))
    placeholder = store.write(anonymize_bot, "ann")
    assert store.read(planned.find_plan, plan).terms.bots == [placeholder]
