"""All matches: those under way (which the browser adds), then what a search found, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from arena.store.match_search import Search, search_matches
from arena.store.paging import Page
from arena.store.result_queries import OUTCOMES, VOIDED
from arena.store.store import Reader
from arena.web.formatting import OUTCOME_WORDS, WORDS, reason_words
from arena.web.lookups import pools, unknown_bot_message, unknown_pool_message, unknown_tournament_message
from arena.web.rendering import render_page, site_of
from protocol.display import among
from protocol.errors import UsageFault
from protocol.games import NAMES

ROWS = 50


def matches(request: Request) -> Response:
    """The search form, and what fits its fields. A field that is wrong is said beside it, and nothing is searched."""
    reader = site_of(request).reader
    asked = {name: request.query_params.get(name, "").strip() for name in Search.__struct_fields__}
    after = request.query_params.get("after") or None
    wrong = _wrong(reader, asked)
    found = None
    if not wrong:
        try:
            found = reader.read(
                search_matches,
                Search(**{name: value or None for name, value in asked.items()}),
                after=after,
                limit=ROWS,
            )
        except UsageFault as exc:
            wrong["after"] = str(exc)
    if found is not None and not found.rows:
        wrong |= _strangers(reader, asked)
    return render_page(
        request,
        "matches.html",
        status=HTTPStatus.BAD_REQUEST if found is None else HTTPStatus.OK,
        asked={**asked, "after": after or ""},
        words=_words(asked),
        wrong=wrong,
        found=found or Page(rows=[], total=0),
        pools=pools(reader),
        reasons=WORDS,
        outcomes=OUTCOME_WORDS,
        filtered=any(asked.values()),
    )


def _wrong(reader: Reader, asked: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with the fields, by their names."""
    known = {"game": NAMES, "reason": WORDS, "outcome": OUTCOMES}
    wrong = {
        name: f"there is no {name} {asked[name]}: {among(values)}"
        for name, values in known.items()
        if asked[name] and asked[name] not in values
    }
    if asked["pool"] and (unknown := unknown_pool_message(reader, asked["pool"])):
        wrong["pool"] = unknown
    for name in ("opponent", "outcome"):
        if asked[name] and not asked["bot"] and name not in wrong:
            wrong[name] = "of which bot? Name one above"
    for name in ("since", "until"):
        if asked[name] and not _is_time(asked[name]):
            wrong[name] = f"{asked[name]} is no date: a day is written 2026-11-21"
    if not wrong and asked["since"] and asked["until"] and asked["since"][:10] > asked["until"][:10]:
        wrong["until"] = "ends before it begins"
    return wrong


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return len(text) >= len("2026-11-21")


def _strangers(reader: Reader, asked: Mapping[str, str]) -> dict[str, str]:
    """Where nothing was found: the names that nobody has."""
    unknown = {"bot": unknown_bot_message, "opponent": unknown_bot_message, "tournament": unknown_tournament_message}
    wrong = {name: is_wrong(reader, asked[name]) for name, is_wrong in unknown.items() if asked[name]}
    return {name: sentence for name, sentence in wrong.items() if sentence}


def _words(asked: Mapping[str, str]) -> str:
    """What is searched for, as one says it."""
    said = ["Matches" if any(asked.values()) else "All matches"]
    if asked["game"] or asked["pool"]:
        said.append(f"of {asked['pool'] or asked['game']}")
    if asked["bot"]:
        said.append(f"with {asked['bot']}")
    if asked["opponent"]:
        said.append(f"against {asked['opponent']}")
    if asked["outcome"]:
        said.append("that were called off" if asked["outcome"] == VOIDED else f"that it has {asked['outcome']}")
    if asked["reason"]:
        said.append(f"ended by: {reason_words(asked['reason'])}")
    if asked["tournament"]:
        said.append(f"in tournament {asked['tournament']}")
    if asked["since"]:
        said.append(f"from {asked['since']}")
    if asked["until"]:
        said.append(f"until {asked['until']}")
    return ", ".join([" ".join(said[:2]), *said[2:]])
