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
    SORTS,
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
from arena.store.tournaments import TournamentRow, TournamentTable, tournaments_page
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
from arena.web.errors import NotFound, Wrong
from arena.web.grader import GradeRequest
from arena.web.grading import EXACT_METHOD, grading_method
from arena.web.offline import grades_of, offline_page_in_pieces
from machine.exact.graders import may_need_solving
from protocol import VERSION
from protocol.display import short_repr
from protocol.errors import UsageFault
from protocol.games import NAMES, game_class, load_game
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
        description="`GAME/PRESET`; of a bot also `GAME/unrated`, its matches in no pool",
        examples=["nim/classic"],
    ),
]
GameName = Annotated[str, Meta(description="the name of a game, as in `/games`")]
BotName = Annotated[str, Meta(description="in any case")]


class Paged(Query, frozen=True, kw_only=True):
    """A query for a page of a list."""

    after: Annotated[str, Meta(description="the `next` of the page before; absent: the first page")] | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE_ROWS, description="how many rows")] = 50


class OfGame(Query, frozen=True, kw_only=True):
    """A query for one game, or for all."""

    game: GameName | None = None


class BotsQuery(Paged, frozen=True, kw_only=True):
    """A query for bots."""

    search: Annotated[str, Meta(description="only bots whose name holds this, in any case")] | None = None


class BoardQuery(BotsQuery, frozen=True, kw_only=True):
    """A query for a page of a leaderboard, with its order."""

    sort: Literal[SORTS] | None = None  # type: ignore[valid-type]
    descending: bool = True
    season: Annotated[str, Meta(description="as `arena season list` has it; absent: the one that goes on")] | None = (
        None
    )


class OfPool(Query, frozen=True, kw_only=True):
    """A query for a pool."""

    pool: Pool


class PagedOfPool(Paged, frozen=True, kw_only=True):
    """A query for a page of a list in a pool."""

    pool: Pool


class MatchesQuery(Paged, frozen=True, kw_only=True):
    """A query for matches that satisfy all its conditions. With `bot`, `reason` and `outcome` refer to its seat."""

    bot: BotName | None = None
    opponent: BotName | None = None
    game: GameName | None = None
    pool: Pool | None = None
    reason: Annotated[str, Meta(description="why it ended, of the match or of the seat of `bot`")] | None = None
    outcome: Literal[OUTCOMES] | None = None  # type: ignore[valid-type]
    tournament: Annotated[str, Meta(description="its id")] | None = None
    since: Annotated[str, Meta(description="ended then or later: a day, or a time in UTC, in ISO 8601")] | None = None
    until: Annotated[str, Meta(description="ended before; a day is included whole")] | None = None


class ConsistencyQuery(Query, frozen=True, kw_only=True):
    """A query for a proof that the log extends an earlier one."""

    size: Annotated[int, Meta(ge=1, le=2**31 - 1, description="how many entries it had then", examples=[1])]
    of: Annotated[int, Meta(ge=1, le=2**31 - 1, description="that of the first so many, instead of all")] | None = None


class GradesQuery(Query, frozen=True, kw_only=True):
    """A query for the grades of a match: which moves, and whether to estimate them."""

    seat: Annotated[int, Meta(ge=0, le=63, description="only the moves of this seat")] | None = None
    estimated: Annotated[bool, Meta(description="estimate them by simulations where the game is not solved")] = False


class Rows(Struct, Generic[T], frozen=True, kw_only=True):
    """A list that is told whole."""

    rows: list[T]


class Leaderboard(Page[BoardRow], frozen=True, kw_only=True):
    """A page of the leaderboard of a pool."""

    game: str
    pool: str


class PoolRow(Struct, frozen=True, kw_only=True):
    """A pool in which matches were rated; `people`: those in which people play."""

    game: str
    pool: str
    people: bool


class PresetRow(Struct, frozen=True, kw_only=True):
    """A config on which matches are rated, whole as in `start`; `pool` is where."""

    preset: str
    pool: str
    seats: int
    config: dict[str, Any]


class GameRow(Struct, frozen=True, kw_only=True):
    """A game that can be played."""

    game: str
    presets: list[PresetRow]


def games(asked: ApiRequest[Query]) -> Rows[GameRow]:
    """The games, each with the configs on which matches are rated."""
    return Rows(rows=[GameRow(game=name, presets=_presets(name)) for name in NAMES])


def _presets(name: str) -> list[PresetRow]:
    made = {preset: load_game(name, {"preset": preset}) for preset in game_class(name).presets}
    return [
        PresetRow(preset=preset, pool=f"{name}/{preset}", seats=game.seats, config=game.config)
        for preset, game in made.items()
    ]


def pools(asked: ApiRequest[OfGame]) -> Rows[PoolRow]:
    """The pools in which matches were rated."""
    if asked.query.game is not None:
        game_class(asked.query.game)
    return Rows(
        rows=[
            PoolRow(game=rating_system.game_of(pool), pool=pool, people=is_people_pool(pool))
            for pool in asked.site.reader.read(pools_with_results, asked.query.game)
        ]
    )


def leaderboard(asked: ApiRequest[BoardQuery]) -> Leaderboard:
    """The leaderboard of a pool, as `arena leaderboard --json` has it, with ranks and the last ratings."""
    game, preset = asked.path["game"], asked.path["preset"]
    pool, reader = f"{game}/{preset}", asked.site.reader
    page = reader.read(leaderboard_page, pool, **msgspec.structs.asdict(asked.query))
    if not page.total and pool not in (rated := reader.read(pools_with_results)):
        raise NotFound(lookups.no_leaderboard_message(game, preset, rated))
    return Leaderboard(game=game, pool=pool, **msgspec.structs.asdict(page))


def bots(asked: ApiRequest[BotsQuery]) -> Page[BotRow]:
    """The bots that are known, by name."""
    return asked.site.reader.read(bots_page, **msgspec.structs.asdict(asked.query))


def bot(asked: ApiRequest[Query]) -> Profile:
    """A bot: its versions, and where it stands in every pool."""
    return lookups.require_profile(asked.site.reader, asked.path["bot"])


def _of_bot(asked: ApiRequest[OfPool], query: Callable[..., list[R]]) -> Rows[R]:
    """Return rows about a bot in a pool. Raises `NotFound` and `UsageFault` for unknown names."""
    rows = asked.site.reader.read(query, asked.path["bot"], asked.query.pool)
    _check_known(asked, rows)
    return Rows(rows=rows)


def _page_of_bot(asked: ApiRequest[PagedOfPool], query: Callable[..., Page[R]]) -> Page[R]:
    """Return a page of rows about a bot in a pool. Raises the errors of `_of_bot`."""
    page = asked.site.reader.read(query, asked.path["bot"], **msgspec.structs.asdict(asked.query))
    _check_known(asked, page.rows)
    return page


def _check_known(asked: ApiRequest[Any], rows: Sequence[object]) -> None:
    if not rows:
        _check_bot(asked)
        _check_pool(asked)


def _check_bot(asked: ApiRequest[Any]) -> None:
    """Raise `NotFound` unless the bot exists. Called if an answer about the bot has no rows."""
    if wrong := lookups.unknown_bot_message(asked.site.reader, asked.path["bot"]):
        raise NotFound(wrong)


def _check_pool(asked: ApiRequest[Any]) -> None:
    """Raise `UsageFault` unless the pool exists. Called if an answer about the pool has no rows."""
    if asked.query.pool is not None and (wrong := lookups.unknown_pool_message(asked.site.reader, asked.query.pool)):
        raise UsageFault(wrong)


def incidents(asked: ApiRequest[Query]) -> Rows[Incident]:
    """What went wrong with a bot's connections of late by its own doing, the newest first, at most 20."""
    rows = asked.site.reader.read(latest_incidents, asked.path["bot"])
    if not rows:
        _check_bot(asked)
    return Rows(rows=rows)


def history(asked: ApiRequest[OfPool]) -> Rows[HistoryPoint]:
    """A bot's rating in a pool over time, at most some 300 points."""
    return _of_bot(asked, rating_history)


def opponents(asked: ApiRequest[PagedOfPool]) -> Page[OpponentRow]:
    """How a bot fared against each other one."""
    return _page_of_bot(asked, opponents_page)


def seats(asked: ApiRequest[OfPool]) -> Rows[SeatRow]:
    """How a bot fared in each seat."""
    return _of_bot(asked, results_by_seat)


def versions(asked: ApiRequest[PagedOfPool]) -> Page[VersionRow]:
    """How each version of a bot fared, the one that played last first."""
    return _page_of_bot(asked, versions_page)


def endings(asked: ApiRequest[OfPool]) -> Rows[Ending]:
    """How a bot's matches ended for it: by outcome and reason, with the latest of each."""
    return _of_bot(asked, endings_of)


def matches(asked: ApiRequest[MatchesQuery]) -> Page[Result]:
    """Finished matches, the newest first, as `arena matches --json` has them."""
    query, reader = asked.query, asked.site.reader
    if query.game is not None:
        game_class(query.game)
    wanted = Search(**{name: getattr(query, name) for name in Search.__struct_fields__})
    page = reader.read(search_matches, wanted, after=query.after, limit=query.limit)
    if not page.rows:
        _check_pool(asked)
        for name in (query.bot, query.opponent):
            if name is not None and (wrong := lookups.unknown_bot_message(reader, name)):
                raise UsageFault(wrong)
        if query.tournament is not None and (wrong := lookups.unknown_tournament_message(reader, query.tournament)):
            raise UsageFault(wrong)
    return page


def result(asked: ApiRequest[Query]) -> Result:
    """How a match ended: its row among the matches."""
    return _result(asked)


def _result(asked: ApiRequest[Any]) -> Result:
    """Return a match's result. Raises `NotFound`."""
    found = asked.site.reader.read(result_of, asked.path["match"])
    if found is None:
        raise _no_match(asked.path["match"])
    return found


def _no_match(name: str) -> NotFound:
    return NotFound(f"there is no match {short_repr(name)}: none under way is told here, only finished ones")


def _record(asked: ApiRequest[Any]) -> bytes:
    """Return a match's record, gzipped. Raises `NotFound`."""
    body = asked.site.reader.read(record_of, asked.path["match"])
    if body is None:
        raise _no_match(asked.path["match"])
    return body


def match(asked: ApiRequest[Query]) -> Annotated[StreamedRecord, Document]:
    """A match with the state after every event, as `arena replay show --json` has it, without luck."""
    stored = result(asked)
    data = _record(asked)

    def pieces() -> Pieces:
        record = yield from record_reader.read_record_in_steps(data, stored.match)
        yield from iter_document_json(ReplayedMatch(record), stored.annulled)

    return StreamedRecord(pieces(), stored.match, data, variant=stored.annulled or "")


def grades(asked: ApiRequest[GradesQuery]) -> Grades:
    """What each move gave away where the game is solved, and its dice gave, as `arena replay grade --json` has it."""
    given = asked.grades
    if isinstance(given, Grades):
        return given
    return asked.site.grading.grade_here(_record(asked), asked.path["match"], asked.query.seat)


def grade_request(asked: ApiRequest[GradesQuery]) -> tuple[bytes, GradeRequest] | None:
    """Return a match's record and the request for its grades, if grading may have to solve a table or simulate games;
    else None. Raises `UsageFault` for a seat that does not exist.
    """
    stored, seat = _result(asked), asked.query.seat
    if seat is not None and seat >= len(stored.seats):
        raise UsageFault(f"there is no seat {seat} in {stored.match}: its seats are 0 to {len(stored.seats) - 1}")
    if asked.query.estimated and grading_method(stored.game, stored.config) != EXACT_METHOD:
        return _record(asked), GradeRequest(seat=seat, sims=ESTIMATE_SIMULATIONS)
    return (_record(asked), GradeRequest(seat=seat)) if may_need_solving(stored.game, stored.config) else None


def solve_request(asked: ApiRequest[Query]) -> tuple[bytes, GradeRequest] | None:
    """Return a match's record and the request for all its grades, if grading may have to solve a table; else None."""
    stored = result(asked)
    return (_record(asked), GradeRequest()) if may_need_solving(stored.game, stored.config) else None


def packed(asked: ApiRequest[Query]) -> Annotated[StreamedRecord, File]:
    """The record of a match as it was closed, to be saved."""
    name, data = asked.path["match"], _record(asked)
    return StreamedRecord(split(data), name, data, file=f"{name}.jsonl.gz")


def unpacked(asked: ApiRequest[Query]) -> Annotated[StreamedRecord, File]:
    """The record of a match as JSON lines, to be saved."""
    name, data = asked.path["match"], _record(asked)
    return StreamedRecord(record_reader.iter_unpacked(data, name), name, data, file=f"{name}.jsonl")


def whole(asked: ApiRequest[Query]) -> Annotated[StreamedRecord, File]:
    """A match in one HTML file that plays offline, to be saved."""
    name, data, given = asked.path["match"], _record(asked), asked.grades

    def pieces() -> Pieces:
        record = yield from record_reader.read_record_in_steps(data, name)
        yield from offline_page_in_pieces(record, grades_of if given is UNSET else lambda _: given)

    return StreamedRecord(pieces(), name, data, variant="graded" if given else "", file=f"{name}.html")


def tournaments(asked: ApiRequest[Paged]) -> Page[TournamentRow]:
    """The tournaments, the newest first."""
    return asked.site.reader.read(tournaments_page, **msgspec.structs.asdict(asked.query))


def tournament(asked: ApiRequest[Query]) -> TournamentTable:
    """A tournament with its table and who beat whom."""
    return lookups.find_tournament(asked.site, asked.path["tournament"])


def log(asked: ApiRequest[Paged]) -> Page[LogEntry]:
    """The log of results, from the first match on: what each ended with, in the order in which they were stored."""
    return asked.site.reader.read(log_page, **msgspec.structs.asdict(asked.query))


def head(asked: ApiRequest[Query]) -> SignedTreeHead:
    """How far the log goes, signed."""
    found = asked.site.reader.read(log_head)
    if found is None:
        raise NotFound("no match was stored yet: the log begins with the first")
    return found


def consistency(asked: ApiRequest[ConsistencyQuery]) -> ConsistencyProof:
    """What proves that the log goes on from what it was with so many entries."""
    return asked.site.reader.read(prove_consistency, asked.query.size, asked.query.of)


def proof(asked: ApiRequest[Query]) -> InclusionProof:
    """What proves that a match with this last digest is in the log."""
    found = asked.site.reader.read(prove_inclusion, asked.path["match"])
    if found is None:
        raise _no_match(asked.path["match"])
    return found


OPERATIONS = (
    Operation("/games", games),
    Operation("/pools", pools, example="/pools?game=nim"),
    Operation("/leaderboard/{game}/{preset}", leaderboard, example="/leaderboard/nim/classic?limit=3"),
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
_DESCRIPTION = (
    "What the pages of an arena show. Lists come in pages: `next` is the cursor of the page after this one, also told "
    "in `Link`. `ETag` and `If-None-Match` save what is known already. Any origin may read."
)


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
