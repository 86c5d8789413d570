"""Hosted bots enter a tournament with the versions that were active at its deadline, and these are kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from arena.hosting.limits import VersionLimits
from arena.store import bot_versions, entrants
from arena.store.bot_versions import (
    add_version,
    begin_check,
    choose_games,
    end_check,
    list_versions,
    read_content,
    use_version,
)
from arena.store.entrants import (
    EntrantList,
    HostedEntrant,
    entered_versions,
    find_entrants,
    freeze_entrants,
    sources_of,
    tournaments_of_bot,
)
from arena.store.planned import PlanDraft, PlannedTerms, add_plan, remove_plan
from arena.store.registry import anonymize_bot, register_bot, rename_bot, revoke_bots
from arena.store.store import Store
from arena.store.upgrade import upgrade_database
from databases import EVERY_DATABASE, alter
from later_schema import TO_THIRD_SCHEMA
from protocol.errors import UsageFault

pytestmark = EVERY_DATABASE


class Course:
    """Bots whose versions are handed in and checked at the hours of a day."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store = store
        self.limits = VersionLimits()
        self._hour = 0
        for module in (bot_versions, entrants):
            monkeypatch.setattr(module, "database_now", lambda connection: at(self._hour))

    def submit(self, hour: int, bot: str, digest: str, *games: str) -> int:
        """Hand in a version, and return its id."""
        self._hour = hour
        manifest = json.dumps({"games": games or ("nim",)})
        return self.store.write(add_version, bot, digest, digest.encode(), manifest, None, self.limits).id

    def end_check(self, hour: int, version: int, *, passed: bool = True) -> None:
        self._hour = hour
        self.store.write(begin_check, version)
        self.store.write(end_check, version, passed=passed, report="")

    def use_version(self, hour: int, bot: str, number: int) -> None:
        self._hour = hour
        self.store.write(use_version, bot, number)

    def has_passed(self, hour: int, bot: str, digest: str, *games: str) -> None:
        """Hand in a version that passes its check in the same hour."""
        self.end_check(hour, self.submit(hour, bot, digest, *games))

    def entrants(self, hour: int, *bots: str, late: bool = False) -> EntrantList:
        return self.store.read(find_entrants, "nim", at(hour), bots, late=late)

    def versions(self, hour: int, *bots: str, late: bool = False) -> list[str]:
        """The entrants and their versions, like `ann v1`."""
        return [f"{one.bot} {one.label}" for one in self.entrants(hour, *bots, late=late).entrants]


def at(hour: int) -> str:
    return f"2026-11-29T{hour:02d}:00:00.000Z"


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Course]:
    store = Store.open(tmp_path / "arena.db")
    for name in ("Ann", "bob", "zoe"):
        store.write(register_bot, name, name[0] * 64)
    yield Course(store, monkeypatch)
    store.close()


def test_each_bot_enters_with_the_version_that_was_active_at_the_deadline(course: Course) -> None:
    course.has_passed(1, "ann", "a1")
    course.has_passed(2, "bob", "b1")
    course.has_passed(3, "ann", "a2")
    assert course.versions(1) == ["Ann v1"]
    assert course.versions(2) == ["Ann v1", "bob v1"]
    assert course.versions(3) == ["Ann v2", "bob v1"]
    assert course.entrants(2).notes == ["Ann, version 2, came after the deadline: version 1 plays"]


def test_what_was_handed_in_while_a_clock_was_ahead_enters_and_so_does_what_came_when_it_was_right(
    course: Course,
) -> None:
    course.has_passed(1, "ann", "a1")
    course.has_passed(9, "ann", "a2")
    course.has_passed(9, "bob", "b1")
    course.has_passed(3, "ann", "a3")
    assert course.versions(3) == ["Ann v3", "bob v1"]
    course.has_passed(5, "ann", "a4")
    assert course.versions(4) == ["Ann v3", "bob v1"]
    assert course.versions(5) == ["Ann v4", "bob v1"]


def test_a_deadline_that_is_still_to_come_is_told(course: Course) -> None:
    course.has_passed(5, "ann", "a1")
    assert course.entrants(5).notes == []
    (note,) = course.entrants(6).notes
    assert note == f"{at(6)} is still to come: versions that are handed in until then play if this is repeated"


def test_a_version_that_was_handed_in_again_is_active_from_then_on(course: Course) -> None:
    course.has_passed(1, "ann", "a1")
    course.has_passed(2, "ann", "a2")
    course.submit(3, "ann", "a1")
    assert [course.versions(hour) for hour in (1, 2, 3)] == [["Ann v1"], ["Ann v2"], ["Ann v1"]]


def test_a_version_that_the_owner_went_back_to_is_active_from_then_on_and_the_games_are_those_that_were_chosen(
    course: Course,
) -> None:
    course.has_passed(1, "ann", "a1", "nim", "tictactoe")
    course.has_passed(2, "ann", "a2")
    course.use_version(4, "ann", 1)
    assert [course.versions(hour) for hour in (2, 3, 4)] == [["Ann v2"], ["Ann v2"], ["Ann v1"]]
    course.store.write(choose_games, "ann", ["tictactoe"])
    assert course.versions(4) == []
    assert course.entrants(4).notes == ["Ann, version 1, does not enter: its owner chose games without nim"]


def test_a_version_counts_from_its_submission_however_long_its_check_took(course: Course) -> None:
    course.has_passed(1, "ann", "a1")
    waiting = course.submit(2, "ann", "a2")
    found = course.entrants(2)
    assert [one.number for one in found.entrants] == [1]
    assert found.notes == ["Ann, version 2, was handed in before the deadline, and its check has not ended"]
    course.end_check(9, waiting)
    assert course.versions(3) == ["Ann v2"]
    assert course.entrants(3).notes == []


def test_a_version_that_failed_and_passed_later_does_not_displace_what_was_active_meanwhile(course: Course) -> None:
    failed = course.submit(1, "ann", "a1")
    course.end_check(1, failed, passed=False)
    course.has_passed(2, "ann", "a2")
    course.submit(4, "ann", "a1")
    course.end_check(4, failed)
    assert [course.versions(hour) for hour in (3, 4)] == [["Ann v2"], ["Ann v1"]]


def test_a_bot_whose_first_version_came_late_enters_only_if_asked_for_and_is_marked(course: Course) -> None:
    course.has_passed(1, "ann", "a1")
    course.has_passed(5, "zoe", "z1")
    course.has_passed(6, "zoe", "z2")
    assert course.versions(2) == ["Ann v1"]
    (note,) = course.entrants(2).notes
    assert note == f"zoe, version 1, was handed in at {at(5)}, after the deadline: it enters only if late bots may"
    assert course.versions(2, late=True) == ["Ann v1", "zoe v1 late"]


def test_bots_of_other_games_and_revoked_ones_do_not_enter(course: Course) -> None:
    course.has_passed(1, "ann", "a1", "tictactoe")
    course.has_passed(1, "bob", "b1")
    course.has_passed(1, "zoe", "z1", "tictactoe", "nim")
    assert course.versions(1) == ["bob v1", "zoe v1"]
    course.store.write(revoke_bots, ["bob"])
    assert course.versions(1) == ["zoe v1"]


def test_named_bots_enter_alone_and_one_that_can_not_enter_is_refused(course: Course) -> None:
    course.has_passed(1, "ann", "a1")
    course.has_passed(1, "bob", "b1")
    course.has_passed(3, "zoe", "z1")
    assert course.versions(1, "ANN") == ["Ann v1"]
    with pytest.raises(UsageFault, match="nobody is no hosted bot"):
        course.entrants(1, "nobody")
    with pytest.raises(UsageFault, match=r"zoe, version 1, was handed in at .* after the deadline"):
        course.entrants(1, "zoe")


def test_a_version_that_entered_a_tournament_is_kept_beyond_the_newest_ones(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bot_versions, "days_before_now", lambda connection, days: at(23))
    course.limits = VersionLimits(kept=2)
    for hour in range(1, 7):
        course.has_passed(hour, "ann", f"a{hour}")
        if hour == 2:
            course.store.write(freeze_entrants, "t1", course.entrants(2).entrants)
    kept = [bool(course.store.read(read_content, f"a{hour}", 0)) for hour in range(1, 7)]
    assert kept == [False, True, False, False, True, True]
    assert course.versions(2) == ["Ann v2"]
    with pytest.raises(UsageFault, match=r"Ann, version 3, which was active at .*, is no longer kept: it can't enter"):
        course.entrants(3, "ann")
    with pytest.raises(UsageFault, match="ann, version 3, is no longer kept"):
        course.store.write(freeze_entrants, "t2", [HostedEntrant(bot="ann", number=3, digest="a3", since=at(3))])


def test_a_version_that_was_active_as_entries_closed_is_kept_until_the_tournament_begins(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bot_versions, "days_before_now", lambda connection, days: at(23))
    course.limits = VersionLimits(kept=1)
    draft = PlanDraft(title="Cup", terms=PlannedTerms(game="nim"), closes=at(2), starts=at(20))
    number = course.store.write(add_plan, draft)
    for hour in range(1, 6):
        course.has_passed(hour, "ann", f"a{hour}")
    assert course.versions(2) == ["Ann v2"]
    course.store.write(remove_plan, number)
    course.has_passed(6, "ann", "a6")
    assert course.store.read(read_content, "a2", 0) == b""


def test_the_sources_of_a_tournament_are_its_frozen_versions_and_else_the_active_ones(course: Course) -> None:
    course.has_passed(1, "ann", "a1")
    course.has_passed(1, "bob", "b1")
    course.store.write(freeze_entrants, "t1", course.entrants(1).entrants)
    course.has_passed(2, "ann", "a2")
    assert list(course.store.iterate(sources_of, "t1")) == [("Ann", 1, b"a1"), ("bob", 1, b"b1")]
    assert list(course.store.iterate(sources_of)) == [("Ann", 2, b"a2"), ("bob", 1, b"b1")]


def test_a_table_names_the_version_of_a_bot_that_was_renamed_since(course: Course) -> None:
    course.has_passed(1, "ann", "a1")
    course.has_passed(5, "zoe", "z1")
    course.store.write(freeze_entrants, "t1", course.entrants(2, late=True).entrants)
    course.store.write(rename_bot, "ann", "anna")
    arguments = {"hosted": {"Ann": {"version": 1, "digest": "a1"}, "zoe": {"version": 1, "digest": "z1", "late": True}}}
    assert course.store.read(entered_versions, "t1", arguments) == {"anna": (1, False), "zoe": (1, True)}
    assert course.store.read(entered_versions, "t9", arguments) == {"Ann": (1, False), "zoe": (1, True)}


def test_a_deleted_bot_has_no_sources_left_and_its_tournaments_can_be_told(course: Course) -> None:
    course.has_passed(1, "ann", "a1")
    course.has_passed(1, "bob", "b1")
    for tournament in ("t1", "t2"):
        course.store.write(freeze_entrants, tournament, course.entrants(1).entrants)
    placeholder = course.store.write(anonymize_bot, "ann")
    assert course.store.read(tournaments_of_bot, placeholder) == ["t1", "t2"]
    assert course.versions(1) == ["bob v1"]
    assert list(course.store.iterate(sources_of, "t1")) == [("bob", 1, b"b1")]
    course.store.write(register_bot, "ann", "n" * 64)
    assert course.store.read(tournaments_of_bot, "ann") == [], "it is another one"


def test_an_upgrade_takes_over_versions_and_since_when_they_are_active(course: Course) -> None:
    course.has_passed(3, "ann", "a1")
    course.submit(4, "ann", "a2")
    before = course.store.read(list_versions, "ann")
    course.store.close()
    alter(course.store.database, *TO_THIRD_SCHEMA)
    upgrade_database(course.store.database)
    with closing(Store.open(course.store.database)) as upgraded:
        assert upgraded.read(list_versions, "ann") == before
        assert upgraded.read(find_entrants, "nim", at(2)).entrants == []
        assert [one.label for one in upgraded.read(find_entrants, "nim", at(3)).entrants] == ["v1"]
