"""The page of all matches, with a search, and the page of one match, live or stored. A script adds running matches to
the page of all matches.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from arena.store.bot_logs import find_logged
from arena.store.match_search import Search, parse_time_bound, search_matches
from arena.store.paging import Page
from arena.store.result_queries import OUTCOMES, RecordRemoved, record_of, result_of
from arena.store.store import Reader
from arena.web.answers import Pieces, StreamedAnswer
from arena.web.errors import NotFound
from arena.web.formatting import OUTCOME_WORDS, REASON_WORDS, reason_words, result_sentence
from arena.web.grading import NO_METHOD, grading_method
from arena.web.lookups import (
    list_games,
    list_pools,
    unknown_bot_message,
    unknown_pool_message,
    unknown_tournament_message,
)
from arena.web.rendering import render_bytes, render_page, site_of
from arena.web.titles import game_title, match_title, pool_title
from protocol.display import list_choices
from protocol.errors import BadRecord, UsageFault
from protocol.games import is_known_game, missing_rules_message
from protocol.names import is_match_id
from referee import record_reader
from referee.result import Result

PAGE_ROWS = 50
"""The number of matches on a page of the list of matches."""
VISIBLE_FIELDS = ("bot", "game")
"""Search fields that are always visible. The page hides other fields until the visitor opens them, unless they are
filled in.
"""


def matches(request: Request) -> Response:
    """Show the search form and the matches found. If fields have errors, show these beside them and search nothing."""
    reader = site_of(request).reader
    asked = {name: request.query_params.get(name, "").strip() for name in Search.__struct_fields__}
    after = request.query_params.get("after") or None
    wrong = _find_errors(reader, asked)
    found = None
    if not wrong:
        try:
            found = reader.read(
                search_matches,
                Search(**{name: value or None for name, value in asked.items()}),
                after=after,
                limit=PAGE_ROWS,
            )
        except UsageFault as exc:
            wrong["after"] = str(exc)
    if found is not None and not found.rows:
        wrong |= _find_unknown_names(reader, asked)
    return render_page(
        request,
        "matches.html",
        status=HTTPStatus.BAD_REQUEST if found is None else HTTPStatus.OK,
        asked={**asked, "after": after or ""},
        words=_describe_search(asked),
        wrong=wrong,
        found=found or Page(rows=[], total=0),
        games={game: game_title(game) for game in list_games(reader)},
        pools={pool: pool_title(pool) for pool in list_pools(reader)},
        reasons=REASON_WORDS,
        outcomes=OUTCOME_WORDS,
        filtered=any(asked.values()),
        folded=any(asked[name] or name in wrong for name in asked if name not in VISIBLE_FIELDS),
    )


def _find_errors(reader: Reader, asked: Mapping[str, str]) -> dict[str, str]:
    known = {"game": list_games(reader), "reason": REASON_WORDS, "outcome": OUTCOMES}
    wrong = {
        name: f"there is no {name} {asked[name]}: {list_choices(values)}"
        for name, values in known.items()
        if asked[name] and asked[name] not in values
    }
    if asked["pool"] and (unknown := unknown_pool_message(reader, asked["pool"])):
        wrong["pool"] = unknown
    for name in ("opponent", "outcome"):
        if asked[name] and not asked["bot"] and name not in wrong:
            wrong[name] = "needs a bot: name one in the field Bot"
    bounds = []
    for name, days in (("since", 0), ("until", 1)):
        if asked[name]:
            try:
                bounds.append(parse_time_bound(asked[name], name, days=days))
            except UsageFault:
                wrong[name] = f"{asked[name]} is not a date: write it like 2026-11-21"
    if not wrong and len(bounds) == 2 and bounds[0] >= bounds[1]:
        wrong["until"] = "is before From: give a later date"
    return wrong


def _find_unknown_names(reader: Reader, asked: Mapping[str, str]) -> dict[str, str]:
    """Return an error for each search field with a name that does not exist. Called if the search has found nothing."""
    unknown = {"bot": unknown_bot_message, "opponent": unknown_bot_message, "tournament": unknown_tournament_message}
    wrong = {name: is_wrong(reader, asked[name]) for name, is_wrong in unknown.items() if asked[name]}
    return {name: sentence for name, sentence in wrong.items() if sentence}


def _describe_search(asked: Mapping[str, str]) -> str:
    outcome = asked["outcome"]
    of = pool_title(asked["pool"]) if asked["pool"] else asked["game"] and game_title(asked["game"])
    said = (
        "Matches" if any(asked.values()) else "All matches",
        of and f"of {of}",
        asked["bot"] and f"with {asked['bot']}",
        asked["opponent"] and f"against {asked['opponent']}",
        outcome and f"outcome: {OUTCOME_WORDS.get(outcome, outcome)}",
        asked["reason"] and f"ended by: {reason_words(asked['reason'])}",
        asked["tournament"] and f"in tournament {asked['tournament']}",
        asked["since"] and f"from {asked['since']} on",
        asked["until"] and f"until {asked['until']}",
    )
    parts = list(filter(None, said))
    return ", ".join([" ".join(parts[:2]), *parts[2:]])


def match(request: Request) -> Response | StreamedAnswer:
    """Show a stored match, or a page that asks the arena whether the match is running."""
    site, name = site_of(request), request.path_params["match"]
    result = site.reader.read(result_of, name)
    if result is None:
        if not site.socket or not is_match_id(name):
            raise NotFound(f"there is no match {name} here")
        return render_page(request, "live_match.html", match=name)
    data, damage = _record(site.reader, name)
    return StreamedAnswer(_render_stored(request, result, data, damage), "text/html", held_bytes=len(data or b""))


def _render_stored(request: Request, result: Result, data: bytes | None, damage: str | None) -> Pieces:
    """Yield the page of a stored match, with pauses while its record is read. If `data` is None, `damage` says why."""
    record = None
    if data is not None:
        try:
            record = yield from record_reader.read_record_in_steps(data, f"the record of {result.match}")
        except BadRecord as exc:
            damage = str(exc)
    site, bots = site_of(request), [seat.bot for seat in result.seats]
    yield render_bytes(
        request,
        "match.html",
        logged=[] if site.hosting is None else site.reader.read(find_logged, result.match, bots),
        result=result,
        title=match_title(result.game, result.config),
        told=result_sentence(result.reason, result.plies, result.seats),
        config=msgspec.json.format(msgspec.json.encode(result.config)).decode(),
        record=record,
        damage=damage,
        missing_rules="" if is_known_game(result.game) else missing_rules_message(result.game),
        graded=NO_METHOD if record is None else grading_method(result.game, result.config),
    )


def _record(reader: Reader, name: str) -> tuple[bytes | None, str | None]:
    """Return (stored record of a match, None), or (None, reason why there is no record)."""
    try:
        data = reader.read(record_of, name)
    except RecordRemoved as exc:
        return None, str(exc)
    return data, None if data is not None else f"match {name} has no record"
