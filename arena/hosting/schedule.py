"""Decides when planned tournaments begin: instants in, steps out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

MAX_CHECKS_DELAY_S = 1800.0
"""Maximum seconds by which a tournament begins later because versions that were handed in in time are still checked."""
MAX_FAILURES = 3
"""Number of failures in a row after which a tournament is given up."""


class Planned(NamedTuple):
    """A planned tournament that is not over: its id, when it begins, whether it has begun, how many versions wait for
    their check that were handed in before its deadline, and how often it failed since it last went on. `closes` is when
    its entries close, if it is still to be noted who is online then.
    """

    id: int
    starts: datetime
    has_begun: bool = False
    unchecked: int = 0
    failures: int = 0
    closes: datetime | None = None


class NoteOnline(NamedTuple):
    """A step: note who is online, as the entries of a tournament close."""

    plan: int


class Begin(NamedTuple):
    """A step: freeze the versions of a tournament, and play it."""

    plan: int


class Resume(NamedTuple):
    """A step: play the rest of a tournament that had begun."""

    plan: int


class Abandon(NamedTuple):
    """A step: play a tournament no longer, because it fails again and again."""

    plan: int


Step = NoteOnline | Begin | Resume | Abandon


def next_steps(
    plans: Sequence[Planned], running: Collection[int], now: datetime, *, settled: bool = True
) -> list[Step]:
    """Return what is to be done now. `running` are the ids of the tournaments that are played. If the server is not
    `settled`, it began so lately that bots still come back to it, and the bots that are online are noted later.

    One tournament is played at a time: first those that had begun, then those that begin, in the order of their times.
    """
    steps: list[Step] = [Abandon(plan.id) for plan in plans if plan.failures >= MAX_FAILURES]
    open_plans = [plan for plan in plans if plan.failures < MAX_FAILURES]
    if settled:
        steps += [NoteOnline(plan.id) for plan in open_plans if plan.closes is not None and plan.closes <= now]
    if running:
        return steps
    for plan in sorted(open_plans, key=lambda plan: (not plan.has_begun, plan.starts, plan.id)):
        if plan.has_begun:
            return [*steps, Resume(plan.id)]
        if is_due(plan, now):
            return [*steps, Begin(plan.id)]
    return steps


def is_due(plan: Planned, now: datetime) -> bool:
    """Return whether a tournament may begin: its time has come, the bots online are noted if it asks for them,
    and checks that matter are over or take long.
    """
    wait_s = MAX_CHECKS_DELAY_S if plan.unchecked else 0.0
    return plan.closes is None and now >= plan.starts + timedelta(seconds=wait_s)


def next_night(closes: datetime, starts: datetime, now: datetime) -> tuple[datetime, datetime]:
    """Return the deadline and the start of the next tournament of a nightly series: whole days later, after now."""
    days = max(1, (now - starts).days + 1)
    return closes + timedelta(days=days), starts + timedelta(days=days)
