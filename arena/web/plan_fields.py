"""The fields of a planned tournament, as a query of the API and the operator's form have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from arena.store.planned import PlanDraft, PlannedTerms, read_deadline, read_start
from arena.web.errors import NotFound
from arena.web.truth_values import read_truth
from protocol.config_values import parse_value
from protocol.display import list_choices, short_repr
from protocol.errors import UsageFault
from protocol.games import config_keys

Fields: TypeAlias = Mapping[str, Sequence[str]]
"""The values of each field."""
LIST_FIELDS = ("set", "bot", "with")
"""The fields that may come more than once."""
PLAN_FIELDS = (
    "title",
    "game",
    "preset",
    "closes",
    "starts",
    "nightly",
    "format",
    "rounds",
    "paired",
    "clock",
    "late",
    "online",
    "on_runners",
    "jobs",
    *LIST_FIELDS,
)
"""The names of the fields, which are those of the options of `arena plan add`."""
MAX_PLAN_DIGITS = 9
"""Maximum number of digits of a plan's number."""


def read_plan_fields(fields: Fields) -> PlanDraft:
    """Return what is planned. An empty field is one that is left out. Raise `UsageFault` if a field is wrong.

    The server checks what the texts say, such as whether there is such a format.
    """
    for name, values in fields.items():
        if name not in PLAN_FIELDS:
            raise UsageFault(f"a plan has no field {short_repr(name)}: {list_choices(PLAN_FIELDS)}")
        if len(values) > 1 and name not in LIST_FIELDS:
            raise UsageFault(f"{name} is given twice: give it once or not at all")
    given = _GivenFields({name: [value for value in values if value.strip()] for name, values in fields.items()})
    usual = PlannedTerms(game=given.required("game"))
    closes = read_deadline(given.required("closes"), "closes")
    starts = given.one("starts")
    return PlanDraft(
        title=given.required("title"),
        terms=PlannedTerms(
            game=usual.game,
            config=_read_config(usual.game, given.one("preset"), given.many("set")),
            format=given.one("format") or usual.format,
            rounds=given.number("rounds", usual.rounds),
            paired=given.truth("paired"),
            clock=given.one("clock") or usual.clock,
            bots=given.many("bot"),
            late=given.truth("late"),
            online=given.truth("online"),
            opponents=given.many("with"),
            on_runners=given.truth("on_runners") if given.one("on_runners") else usual.on_runners,
            jobs=given.number("jobs", usual.jobs),
        ),
        closes=closes,
        starts=read_start(starts, "starts") if starts else closes,
        nightly=given.truth("nightly"),
    )


def plan_fields_of(draft: PlanDraft) -> dict[str, list[str]]:
    """Return the fields that say what is planned, as `read_plan_fields` reads them.

    A start at the deadline is left out, so it follows when the deadline is changed.
    """
    terms = draft.terms
    config = dict(terms.config)
    preset = config.pop("preset", None)
    return {
        "title": [draft.title],
        "game": [terms.game],
        "preset": [] if preset is None else [str(preset)],
        "set": [f"{key}={msgspec.json.encode(value).decode()}" for key, value in config.items()],
        "closes": [_shorten(draft.closes)],
        "starts": [] if draft.starts == draft.closes else [_shorten(draft.starts)],
        "nightly": [_say(truth=draft.nightly)],
        "format": [terms.format],
        "rounds": [str(terms.rounds)],
        "paired": [_say(truth=terms.paired)],
        "clock": [terms.clock],
        "late": [_say(truth=terms.late)],
        "online": [_say(truth=terms.online)],
        "on_runners": [] if terms.on_runners is None else [_say(truth=terms.on_runners)],
        "jobs": [str(terms.jobs)],
        "bot": list(terms.bots),
        "with": list(terms.opponents),
    }


def read_plan_number(text: str) -> int:
    """Return the number of a plan. Raise `NotFound` if the text is none."""
    if not text.isdecimal() or not text.isascii() or len(text) > MAX_PLAN_DIGITS:
        raise NotFound(f"there is no plan {short_repr(text)}")
    return int(text)


class _GivenFields(Struct, frozen=True):
    """The fields that are given, without empty values."""

    values: Mapping[str, Sequence[str]]

    def many(self, name: str) -> list[str]:
        return [value.strip() for value in self.values.get(name, ())]

    def one(self, name: str) -> str:
        return next(iter(self.many(name)), "")

    def required(self, name: str) -> str:
        if value := self.one(name):
            return value
        raise UsageFault(f"{name} is missing: a plan needs title, game and closes")

    def number(self, name: str, usual: int) -> int:
        text = self.one(name)
        if text and (not text.isdecimal() or len(text) > 9):
            raise UsageFault(f"{name} is {short_repr(text)}: it is a whole number")
        return int(text) if text else usual

    def truth(self, name: str) -> bool:
        return read_truth(name, self.one(name) or "false")


def _read_config(game: str, preset: str, words: Sequence[str]) -> dict[str, Any]:
    config: dict[str, Any] = {"preset": preset} if preset else {}
    keys = config_keys(game)
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageFault(f"set is {short_repr(word)}: write KEY=VALUE, like heaps=3,5,7")
        if key not in keys:
            raise UsageFault(f"{game} has no config key {short_repr(key)}: {list_choices(keys)}")
        config[key] = parse_value(value)
    return config


def _shorten(time: str) -> str:
    return f"{time.removesuffix('Z').removesuffix('.000').removesuffix(':00')}Z"


def _say(*, truth: bool) -> str:
    return "true" if truth else "false"
