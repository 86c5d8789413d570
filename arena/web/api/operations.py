"""The table of the API's operations, with their queries and answers, and its OpenAPI description."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct
from starlette.routing import Route

from arena.ratings import rating_system
from arena.replay.grading import Grades
from arena.replay.match_document import Document, ReplayedMatch, iter_document_json
from arena.store.incident import Incident
from arena.store.leaderboards import (
    LEADERBOARD_SORTS,
    BoardRow,
    BotRow,
    Ending,
    HistoryPoint,
    OpponentRow,
    Profile,
    SeatRow,
    VersionRow,
    bots_page,
    endings_of,
    leaderboard_page,
    opponents_page,
    pools_with_results,
    rating_history,
    results_by_seat,
    versions_page,
)
from arena.store.match_log import log_head, log_page, prove_consistency, prove_inclusion
from arena.store.match_search import Search, search_matches
from arena.store.paging import MAX_PAGE_ROWS, Page
from arena.store.registry import latest_incidents
from arena.store.result_queries import OUTCOMES, record_of, result_of
from arena.store.store import Reader
from arena.store.tournaments import TournamentRow, TournamentTable, for_visitors, tournaments_page
from arena.transparency_log.signed_log import ConsistencyProof, InclusionProof, LogEntry, SignedTreeHead
from arena.web import lookups
from arena.web.answers import Pieces, split
from arena.web.api.operation import (
    PREFIX,
    SCHEMA_REF,
    ApiRequest,
    File,
    Operation,
    Query,
    StreamedRecord,
    encode_response,
)
from arena.web.drawings import Drawing, draw
from arena.web.errors import NotFound, Wrong
from arena.web.grader import GradeRequest
from arena.web.grading import EXACT_METHOD, grading_method
from arena.web.offline import grades_of, offline_page_in_pieces
from arena.web.titles import example_game, example_pool, example_state
from machine.exact.graders import may_need_solving
from machine.game_discovery import GameSource, read_source
from protocol import VERSION
from protocol.display import short_repr
from protocol.errors import UsageFault
from protocol.games import game_class, game_names, load_game, missing_rules_message, playable_game_names
from protocol.pools import is_people_pool
from referee import record_reader
from referee.result import Result

ESTIMATE_SIMULATIONS = 1000
"""The number of simulations by which each move is estimated."""
T = TypeVar("T")
R = TypeVar("R")
Pool = Annotated[
    str,
    Meta(
        description="`GAME/PRESET`, with people `GAME/PRESET:people`, or `GAME/unrated` for a bot's matches in no pool",
        examples=[example_pool()],
    ),
]
GameName = Annotated[str, Meta(description="the name of a game, as in `/games`")]
BotName = Annotated[str, Meta(description="the name of a bot; case is ignored")]


class Paged(Query, frozen=True, kw_only=True):
    """A query for a page of a list."""

    after: Annotated[str, Meta(description="the `next` of the previous page; without it, the first page")] | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE_ROWS, description="the maximum number of rows")] = 50


class OfGame(Query, frozen=True, kw_only=True):
    """A query for one game, or for all."""

    game: GameName | None = None


class BotsQuery(Paged, frozen=True, kw_only=True):
    """A query for bots."""

    search: Annotated[str, Meta(description="only bots whose names contain this text; case is ignored")] | None = None


class BoardQuery(BotsQuery, frozen=True, kw_only=True):
    """A query for a page of a leaderboard, with its order."""

    sort: (
        Annotated[
            Literal[LEADERBOARD_SORTS],  # type: ignore[valid-type]
            Meta(description="the column to sort by; without it, `payoff` in games ranked by it, else `score`"),
        ]
        | None
    ) = None
    descending: Annotated[bool, Meta(description="true for descending order")] = True
    season: (
        Annotated[
            str, Meta(description="the name of a season, as in `arena season list`; without it, the current season")
        ]
        | None
    ) = None


class OfPool(Query, frozen=True, kw_only=True):
    """A query for a pool."""

    pool: Pool


class PagedOfPool(Paged, frozen=True, kw_only=True):
    """A query for a page of a list in a pool."""

    pool: Pool


class MatchesQuery(Paged, frozen=True, kw_only=True):
    """A query for matches that satisfy all its conditions. If `bot` is given, `reason` and `outcome` are those of that
    bot's seat.
    """

    bot: BotName | None = None
    opponent: Annotated[str, Meta(description="the name of an opponent of `bot`; case is ignored")] | None = None
    game: GameName | None = None
    pool: Pool | None = None
    reason: (
        Annotated[str, Meta(description="the reason why the match ended; with `bot`, the reason of its seat")] | None
    ) = None
    outcome: (
        Annotated[
            Literal[OUTCOMES],  # type: ignore[valid-type]
            Meta(description="the result for `bot`"),
        ]
        | None
    ) = None
    tournament: Annotated[str, Meta(description="the id of a tournament")] | None = None
    since: (
        Annotated[
            str, Meta(description="only matches that ended at this time or later: a day, or a time in UTC (ISO 8601)")
        ]
        | None
    ) = None
    until: (
        Annotated[str, Meta(description="only matches that ended before this time, or by the end of this day")] | None
    ) = None


class ConsistencyQuery(Query, frozen=True, kw_only=True):
    """A query for a proof that the log extends an earlier one."""

    size: Annotated[int, Meta(ge=1, le=2**31 - 1, description="the number of entries of the earlier log", examples=[1])]
    of: (
        Annotated[int, Meta(ge=1, le=2**31 - 1, description="the number of entries of the later log; without it, all")]
        | None
    ) = None


class GradesQuery(Query, frozen=True, kw_only=True):
    """A query for the grades of a match: which moves, and whether to estimate them."""

    seat: Annotated[int, Meta(ge=0, le=63, description="only the moves of this seat")] | None = None
    estimated: Annotated[bool, Meta(description="true to estimate moves by simulations if the game is not solved")] = (
        False
    )


class Rows(Struct, Generic[T], frozen=True, kw_only=True):
    """A complete list."""

    rows: list[T]


class Leaderboard(Page[BoardRow], frozen=True, kw_only=True):
    """A page of the leaderboard of a pool."""

    game: str
    pool: str


class PoolRow(Struct, frozen=True, kw_only=True):
    """A pool with rated matches. `people` is true if people play in it."""

    game: str
    pool: str
    people: bool


class PresetRow(Struct, frozen=True, kw_only=True):
    """A config under which matches are rated, and their `pool`. It has all keys, as in the message `start`."""

    preset: str
    pool: str
    seats: int
    config: dict[str, Any]


class GameRow(Struct, frozen=True, kw_only=True):
    """A game that can be played, with its rated configs."""

    game: str
    presets: list[PresetRow]


def games(request: ApiRequest[Query]) -> Rows[GameRow]:
    """List the games, each with the configs under which matches are rated."""
    return Rows(rows=[GameRow(game=name, presets=_presets(name)) for name in playable_game_names()])


def _presets(name: str) -> list[PresetRow]:
    made = {preset: load_game(name, {"preset": preset}) for preset in game_class(name).presets}
    return [
        PresetRow(preset=preset, pool=game.pool_of(preset), seats=game.seats, config=game.config)
        for preset, game in made.items()
    ]


class DrawingQuery(Query, frozen=True, kw_only=True):
    """A query for the drawing of a state of a game."""

    state: Annotated[str, Meta(description="the state in JSON, as messages carry it", examples=["{}"])]
    config: Annotated[str, Meta(description="the config in JSON; without it, that of the default preset")] = "{}"
    moves: Annotated[str, Meta(description="moves to name, a list in JSON, as in `turn.legal`")] = "[]"


def drawing(request: ApiRequest[DrawingQuery]) -> Drawing:
    """Draw a state of a game as a grid or a text, and name moves as people write them."""
    game = request.path["game"]
    if game not in game_names():
        raise NotFound(missing_rules_message(game))
    query = request.query
    state = _parse_json("state", query.state, dict[str, Any])
    config = _parse_json("config", query.config, dict[str, Any])
    return draw(game, config, state, _parse_json("moves", query.moves, list[dict[str, Any]]))


def source(request: ApiRequest[Query]) -> GameSource:
    """Return the source of a game that the operator brought as a file, with its digest."""
    game = request.path["game"]
    if game not in game_names():
        raise NotFound(missing_rules_message(game))
    try:
        return read_source(game)
    except UsageFault as fault:
        raise NotFound(str(fault)) from fault


def _parse_json(name: str, text: str, kind: type[T]) -> T:
    """Return a value of the query that is JSON. Raise `UsageFault` if it is not, or has another type."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError) as exc:
        wanted = "a list of objects" if name == "moves" else "an object"
        raise UsageFault(f"{name} is {short_repr(text)}: it must be {wanted} in JSON") from exc


def pools(request: ApiRequest[OfGame]) -> Rows[PoolRow]:
    """List the pools with rated matches."""
    if request.query.game is not None:
        _check_game(request.site.reader, request.query.game)
    return Rows(
        rows=[
            PoolRow(game=rating_system.game_of(pool), pool=pool, people=is_people_pool(pool))
            for pool in request.site.reader.read(pools_with_results, request.query.game)
        ]
    )


def _check_game(reader: Reader, game: str) -> None:
    """Raise `UsageFault` for a game of which this arena has neither the rules nor matches."""
    if wrong := lookups.unknown_game_message(reader, game):
        raise UsageFault(wrong)


def leaderboard(request: ApiRequest[BoardQuery]) -> Leaderboard:
    """Return the leaderboard of a pool, as in `arena leaderboard --json`, with ranks and recent ratings."""
    game, preset = request.path["game"], request.path["preset"]
    pool, reader = f"{game}/{preset}", request.site.reader
    page = reader.read(leaderboard_page, pool, **msgspec.structs.asdict(request.query))
    if not page.total and pool not in (rated := reader.read(pools_with_results)):
        raise NotFound(lookups.no_leaderboard_message(game, preset, rated))
    return Leaderboard(game=game, pool=pool, **msgspec.structs.asdict(page))


def bots(request: ApiRequest[BotsQuery]) -> Page[BotRow]:
    """List the known bots by name."""
    return request.site.reader.read(bots_page, **msgspec.structs.asdict(request.query))


def bot(request: ApiRequest[Query]) -> Profile:
    """Return a bot with its versions and its standing in every pool."""
    return lookups.require_profile(request.site.reader, request.path["bot"])


def _of_bot(request: ApiRequest[OfPool], query: Callable[..., list[R]]) -> Rows[R]:
    """Return rows about a bot in a pool. Raise `NotFound` if there is no such bot, and `UsageFault` if no such pool."""
    rows = request.site.reader.read(query, request.path["bot"], request.query.pool)
    _check_known(request, rows)
    return Rows(rows=rows)


def _page_of_bot(request: ApiRequest[PagedOfPool], query: Callable[..., Page[R]]) -> Page[R]:
    page = request.site.reader.read(query, request.path["bot"], **msgspec.structs.asdict(request.query))
    _check_known(request, page.rows)
    return page


def _check_known(request: ApiRequest[Any], rows: Sequence[object]) -> None:
    if not rows:
        _check_bot(request)
        _check_pool(request)


def _check_bot(request: ApiRequest[Any]) -> None:
    if wrong := lookups.unknown_bot_message(request.site.reader, request.path["bot"]):
        raise NotFound(wrong)


def _check_pool(request: ApiRequest[Any]) -> None:
    if request.query.pool is not None and (
        wrong := lookups.unknown_pool_message(request.site.reader, request.query.pool)
    ):
        raise UsageFault(wrong)


def incidents(request: ApiRequest[Query]) -> Rows[Incident]:
    """List the latest problems of a bot's connections that the bot caused, newest first, at most 20."""
    rows = request.site.reader.read(latest_incidents, request.path["bot"])
    if not rows:
        _check_bot(request)
    return Rows(rows=rows)


def history(request: ApiRequest[OfPool]) -> Rows[HistoryPoint]:
    """Return a bot's rating in a pool over time, in at most about 300 points."""
    return _of_bot(request, rating_history)


def opponents(request: ApiRequest[PagedOfPool]) -> Page[OpponentRow]:
    """List a bot's results against each opponent."""
    return _page_of_bot(request, opponents_page)


def seats(request: ApiRequest[OfPool]) -> Rows[SeatRow]:
    """List a bot's results in each seat."""
    return _of_bot(request, results_by_seat)


def versions(request: ApiRequest[PagedOfPool]) -> Page[VersionRow]:
    """List the results of each version of a bot, last played first."""
    return _page_of_bot(request, versions_page)


def endings(request: ApiRequest[OfPool]) -> Rows[Ending]:
    """Count how a bot's matches ended, by outcome and reason, with the latest matches of each."""
    return _of_bot(request, endings_of)


def matches(request: ApiRequest[MatchesQuery]) -> Page[Result]:
    """List finished matches, newest first, as in `arena matches --json`."""
    query, reader = request.query, request.site.reader
    if query.game is not None:
        _check_game(reader, query.game)
    wanted = Search(**{name: getattr(query, name) for name in Search.__struct_fields__})
    page = reader.read(search_matches, wanted, after=query.after, limit=query.limit)
    if not page.rows:
        _check_pool(request)
        for name in (query.bot, query.opponent):
            if name is not None and (wrong := lookups.unknown_bot_message(reader, name)):
                raise UsageFault(wrong)
        if query.tournament is not None and (wrong := lookups.unknown_tournament_message(reader, query.tournament)):
            raise UsageFault(wrong)
    return page


def result(request: ApiRequest[Query]) -> Result:
    """Return the result of a match, as in the list of matches."""
    return _result(request)


def _result(request: ApiRequest[Any]) -> Result:
    found = request.site.reader.read(result_of, request.path["match"])
    if found is None:
        raise _no_match(request.path["match"])
    return found


def _no_match(name: str) -> NotFound:
    return NotFound(f"there is no finished match {short_repr(name)}; matches in progress are not available here")


def _record(request: ApiRequest[Any]) -> bytes:
    """Return a match's record, gzipped. Raise `NotFound` if there is none."""
    body = request.site.reader.read(record_of, request.path["match"])
    if body is None:
        raise _no_match(request.path["match"])
    return body


def match(request: ApiRequest[Query]) -> Annotated[StreamedRecord, Document]:
    """Return a match with the state after every event, as in `arena replay show --json`, without luck."""
    stored = result(request)
    data = _record(request)

    def pieces() -> Pieces:
        record = yield from record_reader.read_record_in_steps(data, stored.match)
        yield from iter_document_json(ReplayedMatch(record), stored.annulled)

    return StreamedRecord(pieces(), stored.match, data, variant=stored.annulled or "")


def grades(request: ApiRequest[GradesQuery]) -> Grades:
    """Return what each move gave away, if the game is solved, and the luck, as in `arena replay grade --json`."""
    given = request.grades
    if isinstance(given, Grades):
        return given
    return request.site.grading.grade_here(_record(request), request.path["match"], request.query.seat)


def grade_request(request: ApiRequest[GradesQuery]) -> tuple[bytes, GradeRequest] | None:
    """Return a match's record and the request for its grades, if grading may have to solve a table or simulate games;
    else None. Raise `UsageFault` if the match has no such seat.
    """
    stored, seat = _result(request), request.query.seat
    if seat is not None and seat >= len(stored.seats):
        raise UsageFault(f"there is no seat {seat} in {stored.match}: its seats are 0 to {len(stored.seats) - 1}")
    if request.query.estimated and grading_method(stored.game, stored.config) != EXACT_METHOD:
        return _record(request), GradeRequest(seat=seat, sims=ESTIMATE_SIMULATIONS)
    return (_record(request), GradeRequest(seat=seat)) if may_need_solving(stored.game, stored.config) else None


def solve_request(request: ApiRequest[Query]) -> tuple[bytes, GradeRequest] | None:
    """Return a match's record and the request for the grades of all its moves; None if grading never has to solve a
    table.
    """
    stored = result(request)
    return (_record(request), GradeRequest()) if may_need_solving(stored.game, stored.config) else None


def packed(request: ApiRequest[Query]) -> Annotated[StreamedRecord, File]:
    """Download the record of a match in its stored form, gzipped."""
    name, data = request.path["match"], _record(request)
    return StreamedRecord(split(data), name, data, file=f"{name}.jsonl.gz")


def unpacked(request: ApiRequest[Query]) -> Annotated[StreamedRecord, File]:
    """Download the record of a match as JSON lines."""
    name, data = request.path["match"], _record(request)
    return StreamedRecord(record_reader.iter_unpacked(data, name), name, data, file=f"{name}.jsonl")


def whole(request: ApiRequest[Query]) -> Annotated[StreamedRecord, File]:
    """Download a match as one HTML file that plays offline."""
    name, data, given = request.path["match"], _record(request), request.grades

    def pieces() -> Pieces:
        record = yield from record_reader.read_record_in_steps(data, name)
        yield from offline_page_in_pieces(record, grades_of if given is UNSET else lambda _: given)

    return StreamedRecord(pieces(), name, data, variant="graded" if given else "", file=f"{name}.html")


def tournaments(request: ApiRequest[Paged]) -> Page[TournamentRow]:
    """List the tournaments, newest first."""
    found = request.site.reader.read(tournaments_page, **msgspec.structs.asdict(request.query))
    return msgspec.structs.replace(found, rows=[for_visitors(row) for row in found.rows])


def tournament(request: ApiRequest[Query]) -> TournamentTable:
    """Return a tournament with its table and head-to-head scores."""
    return lookups.find_tournament(request.site, request.path["tournament"])


def log(request: ApiRequest[Paged]) -> Page[LogEntry]:
    """List the entries of the log, one per match, in the order of storage."""
    return request.site.reader.read(log_page, **msgspec.structs.asdict(request.query))


def head(request: ApiRequest[Query]) -> SignedTreeHead:
    """Return the signed head of the log."""
    found = request.site.reader.read(log_head)
    if found is None:
        raise NotFound("the log is empty: no match has been stored yet")
    return found


def consistency(request: ApiRequest[ConsistencyQuery]) -> ConsistencyProof:
    """Prove that the log extends its first `size` entries."""
    return request.site.reader.read(prove_consistency, request.query.size, request.query.of)


def proof(request: ApiRequest[Query]) -> InclusionProof:
    """Prove that a match is in the log, with its last digest."""
    found = request.site.reader.read(prove_inclusion, request.path["match"])
    if found is None:
        raise _no_match(request.path["match"])
    return found


OPERATIONS = (
    Operation("/games", games),
    Operation("/games/{game}/drawing", drawing, example=f"/games/{example_game()}/drawing?state={example_state()}"),
    Operation("/games/{game}/source", source, example="/games/{brought}/source"),
    Operation("/pools", pools, example=f"/pools?game={example_game()}"),
    Operation("/leaderboard/{game}/{preset}", leaderboard, example=f"/leaderboard/{example_pool()}?limit=3"),
    Operation("/bots", bots, example="/bots?limit=3"),
    Operation("/bots/{bot}", bot),
    Operation("/bots/{bot}/incidents", incidents),
    Operation("/bots/{bot}/history", history, example="/bots/{bot}/history?pool={pool}"),
    Operation("/bots/{bot}/opponents", opponents, example="/bots/{bot}/opponents?pool={pool}&limit=3"),
    Operation("/bots/{bot}/seats", seats, example="/bots/{bot}/seats?pool={pool}"),
    Operation("/bots/{bot}/versions", versions, example="/bots/{bot}/versions?pool={pool}"),
    Operation("/bots/{bot}/endings", endings, example="/bots/{bot}/endings?pool={pool}"),
    Operation("/matches", matches, example="/matches?bot={bot}&limit=3"),
    Operation("/matches/{match}", match),
    Operation("/matches/{match}/result", result),
    Operation(
        "/matches/{match}/grades", grades, example="/matches/{solved}/grades", slow=True, grade_request=grade_request
    ),
    Operation("/matches/{match}/proof", proof),
    Operation("/matches/{match}/record.jsonl.gz", packed, media="application/gzip"),
    Operation("/matches/{match}/record.jsonl", unpacked, media="application/jsonl"),
    Operation("/matches/{match}/match.html", whole, media="text/html", grade_request=solve_request),
    Operation("/log", log, example="/log?limit=3"),
    Operation("/log/head", head),
    Operation("/log/consistency", consistency, example="/log/consistency?size=1"),
    Operation("/tournaments", tournaments, example="/tournaments?limit=3"),
    Operation("/tournaments/{tournament}", tournament),
)
"""All operations of the API, in the order of its description."""
_DESCRIPTION = (
    "The data on the pages of an arena. Long lists have pages: `next` is the cursor of the next one, and the header "
    "`Link` has its address. With `ETag` and `If-None-Match`, an unchanged answer is not sent again. Any origin may "
    "read."
)
"""The text about the API as a whole in its OpenAPI description."""


@cache
def openapi() -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of all operations."""
    types = [Wrong, *(each.answer for each in OPERATIONS if each.answer is not File)]
    _, components = msgspec.json.schema_components(types, ref_template=SCHEMA_REF)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Bot Arena", "version": VERSION, "description": _DESCRIPTION},
        "servers": [{"url": PREFIX}],
        "paths": {each.path: {"get": each.describe()} for each in OPERATIONS},
        "components": {"schemas": components},
    }


ROUTES = [
    *(each.route for each in OPERATIONS),
    Route(f"{PREFIX}/openapi.json", lambda request: encode_response(request, openapi())),
]
"""The routes of all operations of the API, and of its description."""
