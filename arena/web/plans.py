"""Plans tournaments of hosted bots for the operator, over the API, and says what has been handed in for them.

The plans are read from the store here; the server makes the changes.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from http import HTTPStatus

import msgspec
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from arena.operator.client import connect_to_url
from arena.operator.plans import AddPlan, ChangePlan, PlanNumber, RemovePlan
from arena.operator.requests import Request as OperatorRequest
from arena.store.plan_entrants import PlanReport, report_plan
from arena.store.planned import PlannedTournament, find_plan, list_plans
from arena.web.answers import visitor_of
from arena.web.api.operation import JSON_MEDIA_TYPE, PREFIX
from arena.web.bearer_tokens import BearerTokens
from arena.web.errors import NotFound
from arena.web.hosting_config import HostingConfig
from arena.web.plan_fields import plan_fields_of, read_plan_fields, read_plan_number
from arena.web.rendering import site_of
from protocol.errors import UsageFault

PATH = f"{PREFIX}/plans"
"""The path of the planned tournaments."""
MAX_LISTED_PLANS = 500
"""Maximum number of planned tournaments in an answer, the latest."""


class PlansAnswer(Struct, frozen=True, kw_only=True):
    """The planned tournaments, by their starts, also those that are over."""

    plans: Sequence[PlannedTournament]


class Plans:
    """The endpoints of planned tournaments, for requests with the operator's token."""

    def __init__(self, tokens: BearerTokens) -> None:
        self._tokens = tokens

    @property
    def routes(self) -> list[Route]:
        return [
            Route(PATH, self._list, methods=["GET"]),
            Route(PATH, self._add, methods=["POST"]),
            Route(f"{PATH}/{{plan}}", self._show, methods=["GET"]),
            Route(f"{PATH}/{{plan}}", self._change, methods=["POST"]),
            Route(f"{PATH}/{{plan}}", self._remove, methods=["DELETE"]),
        ]

    async def _list(self, request: Request) -> Response:
        self._authorize(request)
        plans = await run_in_threadpool(site_of(request).reader.read, list_plans)
        return _respond(PlansAnswer(plans=plans[-MAX_LISTED_PLANS:]))

    async def _add(self, request: Request) -> Response:
        hosting = self._authorize(request)
        draft = read_plan_fields(_query_of(request))
        added = await _ask(request, hosting, AddPlan(draft=draft))
        return await _report(request, added.plan, HTTPStatus.CREATED)

    async def _show(self, request: Request) -> Response:
        self._authorize(request)
        return await _report(request, read_plan_number(request.path_params["plan"]))

    async def _change(self, request: Request) -> Response:
        """Change the fields that the query has."""
        hosting = self._authorize(request)
        number = read_plan_number(request.path_params["plan"])
        plan = await _find(request, number)
        draft = read_plan_fields({**plan_fields_of(plan), **_query_of(request)})
        await _ask(request, hosting, ChangePlan(plan=number, draft=draft))
        return await _report(request, number)

    async def _remove(self, request: Request) -> Response:
        hosting = self._authorize(request)
        number = read_plan_number(request.path_params["plan"])
        await _find(request, number)
        return _respond(await _ask(request, hosting, RemovePlan(plan=number)))

    def _authorize(self, request: Request) -> HostingConfig:
        """Return the configuration of a request with the operator's token. Raise `HTTPException` for another one."""
        hosting = site_of(request).hosting
        assert hosting is not None, "the routes are those of an arena with hosted bots"
        token = self._tokens.read(request, "the operator")
        if not hmac.compare_digest(token.encode(), hosting.token.encode()):
            raise self._tokens.refuse(request, "the operator")
        return hosting


async def _ask(request: Request, hosting: HostingConfig, operator_request: OperatorRequest) -> PlanNumber:
    async with connect_to_url(hosting.url, hosting.token, f"operator at {visitor_of(request)}") as operator:
        return await operator.ask(operator_request, PlanNumber)


async def _find(request: Request, number: int) -> PlannedTournament:
    try:
        return await run_in_threadpool(site_of(request).reader.read, find_plan, number)
    except UsageFault as fault:
        raise NotFound(str(fault)) from fault


async def _report(request: Request, number: int, status: int = HTTPStatus.OK) -> Response:
    plan = await _find(request, number)
    report: PlanReport = await run_in_threadpool(site_of(request).reader.read, report_plan, plan)
    return _respond(report, status)


def _query_of(request: Request) -> dict[str, list[str]]:
    return {name: request.query_params.getlist(name) for name in request.query_params}


def _respond(answer: Struct, status: int = HTTPStatus.OK) -> Response:
    return Response(msgspec.json.encode(answer), status, {"cache-control": "no-store"}, media_type=JSON_MEDIA_TYPE)
