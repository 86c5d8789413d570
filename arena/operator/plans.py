"""The operator's requests about planned tournaments of hosted bots."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from arena.operator.requests import Request
from arena.store.planned import PlanDraft


class AddPlan(Request, frozen=True, tag="add_plan"):
    """Plan a tournament."""

    draft: PlanDraft

    def changed_names(self) -> Sequence[str]:
        return [self.draft.title]


class ChangePlan(Request, frozen=True, tag="change_plan"):
    """Replace what is planned. The tournament must not have begun."""

    plan: int
    draft: PlanDraft

    def changed_names(self) -> Sequence[str]:
        return [self.draft.title]


class RemovePlan(Request, frozen=True, tag="remove_plan"):
    """Remove a planned tournament that waits; of a nightly series, all that would follow. Stop one that is played."""

    plan: int

    def changed_names(self) -> Sequence[str]:
        return [f"plan {self.plan}"]


class PlanNumber(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reply to a request about a plan: the plan's number and its title, and whether its play was stopped."""

    plan: int
    title: str
    stopped: bool = False
