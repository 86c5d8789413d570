"""Admin pages that plan tournaments of hosted bots, and show what has been handed in for them."""

from __future__ import annotations

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.responses import Response

from arena.operator.plans import AddPlan, ChangePlan, PlanNumber, RemovePlan
from arena.store.plan_entrants import report_plan
from arena.store.planned import PLAYING, WAITING, PlannedTournament, describe_terms, find_plan, list_plans
from arena.web.admin.access_control import AdminRequest
from arena.web.admin.channel import ask
from arena.web.admin.forms import Form
from arena.web.admin.tournaments import FORMAT_WORDS
from arena.web.admin_config import PREFIX
from arena.web.plan_fields import LIST_FIELDS, Fields, plan_fields_of, read_plan_fields, read_plan_number
from arena.web.rendering import site_of
from protocol.errors import Fault
from protocol.games import offered_game_names

PLANS_PATH = f"{PREFIX}/plans"
"""The path of the admin page of planned tournaments."""
MAX_PAST_PLANS = 20
"""Maximum number of planned tournaments on the page that are over."""
OTHER_FIELDS = ("csrf", "do", "plan")
"""The fields of the form that say nothing of what is planned."""


async def plans(request: AdminRequest) -> Response:
    """Show the planned tournaments and the form for a new one; or one of them, with what was handed in for it."""
    number = request.request.query_params.get("plan")
    if number is None:
        return await _list_page(request, {})
    plan = await _find(request, number)
    return await _plan_page(request, plan, plan_fields_of(plan))


async def change(request: AdminRequest) -> Response:
    """Plan a tournament; change, remove or stop a planned one."""
    form = request.form
    try:
        match form.one("do"):
            case "remove":
                gone = await ask(request, RemovePlan(plan=read_plan_number(form.one("plan"))), PlanNumber)
                return request.redirect_done(f"{'stopped' if gone.stopped else 'removed'}: {gone.title}", PLANS_PATH)
            case "change":
                number = read_plan_number(form.one("plan"))
                told = await ask(request, ChangePlan(plan=number, draft=read_plan_fields(_fields_of(form))), PlanNumber)
                return request.redirect_done(f"changed: {told.title}", f"{PLANS_PATH}?plan={told.plan}")
            case _:
                told = await ask(request, AddPlan(draft=read_plan_fields(_fields_of(form))), PlanNumber)
                return request.redirect_done(f"planned: {told.title}", f"{PLANS_PATH}?plan={told.plan}")
    except Fault as fault:
        if form.one("do") == "change":
            plan = await _find(request, form.one("plan"))
            return await _plan_page(request, plan, _fields_of(form), str(fault), HTTPStatus.BAD_REQUEST)
        return await _list_page(request, _fields_of(form), str(fault), HTTPStatus.BAD_REQUEST)


async def _list_page(request: AdminRequest, fields: Fields, wrong: str = "", status: int = HTTPStatus.OK) -> Response:
    found = await request.read(list_plans)
    still_open = [plan for plan in found if plan.state in (WAITING, PLAYING)]
    past = [plan for plan in found if plan.state not in (WAITING, PLAYING)]
    return request.show(
        "admin_plans.html",
        status,
        listed=[*still_open, *past[: -MAX_PAST_PLANS - 1 : -1]],
        describe=describe_terms,
        **_form_values(fields),
        wrong=wrong,
    )


async def _plan_page(
    request: AdminRequest, plan: PlannedTournament, fields: Fields, wrong: str = "", status: int = HTTPStatus.OK
) -> Response:
    report = await request.read(report_plan, plan)
    return request.show(
        "admin_plan.html",
        status,
        report=report,
        plan=plan,
        terms=describe_terms(plan.terms),
        **_form_values(fields),
        wrong=wrong,
    )


async def _find(request: AdminRequest, number: str) -> PlannedTournament:
    if site_of(request.request).hosting is None:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    return await request.read(find_plan, read_plan_number(number))


def _fields_of(form: Form) -> Fields:
    """Return the fields of a form that say what is planned. A field with a list has its words, with spaces between."""
    fields = {name: values for name, values in form.fields.items() if name not in OTHER_FIELDS}
    return {
        name: " ".join(values).replace(", ", " ").split() if name in LIST_FIELDS else values
        for name, values in fields.items()
    }


def _form_values(fields: Fields) -> dict[str, object]:
    words = {name: " ".join(values) for name, values in fields.items()}
    return {"fields": words, "games": offered_game_names(), "formats": FORMAT_WORDS}
