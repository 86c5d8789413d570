"""The operator plans tournaments of hosted bots on a page and over the API, and nobody else does."""

from __future__ import annotations

import html
import json
import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import pytest
import pytest_asyncio

from admin_client import AdminClient
from admin_server import AdminServer, admin_server
from arena.store.planned import PlannedTournament, find_plan, list_plans
from web_client import Answer

pytestmark = pytest.mark.asyncio(loop_scope="module")
CUP = {"title": "Cup", "game": "nim", "closes": "2100-01-01T18:00Z", "with": "random", "set": "heaps=3,5,7"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AdminServer]:
    """One for the tests of this file, without runners."""
    async with admin_server(tmp_path_factory.mktemp("plans"), "--hosting") as server:
        yield server


async def ask(server: AdminServer, method: str, path: str = "", token: str | None = None, **query: str) -> Answer:
    """The answer to a request with the operator's token, or another."""
    headers = {"authorization": f"Bearer {server.token if token is None else token}"}
    client = AdminClient(server.url)
    return await client.send(method, f"/api/v1/plans{path}?{urlencode(query)}", None, **headers)


def error(answer: Answer) -> tuple[int, str]:
    return answer.status, json.loads(answer.text)["error"]["message"]


async def plan(server: AdminServer, number: int) -> PlannedTournament:
    return await server.read(find_plan, number)


async def test_over_the_api_a_plan_is_added_changed_in_part_listed_and_removed(server: AdminServer) -> None:
    added = await ask(server, "POST", **CUP, online="true", on_runners="false")
    report: dict[str, Any] = json.loads(added.text)
    assert (added.status, report["bots"], report["plan"]["state"]) == (201, [], "waiting")
    number = report["plan"]["id"]
    before = await plan(server, number)
    assert (before.starts, before.terms.config, before.terms.online) == (before.closes, {"heaps": [3, 5, 7]}, True)
    assert before.terms.on_runners is False
    later = json.loads((await ask(server, "POST", f"/{number}", closes="2100-01-01T20:00:30Z")).text)["plan"]
    assert later["starts"] == later["closes"] == "2100-01-01T20:00:30.000Z"
    changed = await ask(server, "POST", f"/{number}", starts="2100-01-02T18:00Z", nightly="true", online="")
    assert changed.status == 200, changed.text
    after = await plan(server, number)
    assert (after.starts, after.nightly, after.terms.online) == ("2100-01-02T18:00:00.000Z", True, False)
    assert (after.terms.config, after.terms.opponents) == (before.terms.config, ["random"])
    assert after.terms.on_runners is False
    listed = json.loads((await ask(server, "GET")).text)["plans"]
    assert [one["title"] for one in listed] == ["Cup"]
    assert json.loads((await ask(server, "GET", f"/{number}")).text)["plan"] == listed[0]
    assert json.loads((await ask(server, "DELETE", f"/{number}")).text) == {"plan": number, "title": "Cup"}
    assert await server.read(list_plans) == []
    assert error(await ask(server, "GET", f"/{number}")) == (
        404,
        f"there is no plan {number}: `arena plan list` has them",
    )
    assert [(one.do, one.concerns) for one in (await server.actions())[:3]] == [
        ("remove_plan", [f"plan {number}"]),
        ("change_plan", ["Cup"]),
        ("change_plan", ["Cup"]),
    ]


async def test_a_plan_whose_start_is_past_while_it_waits_is_changed_but_for_a_new_start_in_the_past(
    server: AdminServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = json.loads((await ask(server, "POST", **CUP)).text)["plan"]["id"]
    monkeypatch.setattr("arena.operations.plans.utc_now", lambda: "2100-01-01T18:20:00.000Z")
    assert (await ask(server, "POST", f"/{number}", title="Final")).status == 200
    status, told = error(await ask(server, "POST", f"/{number}", closes="2100-01-01T18:10Z"))
    assert (status, told[:45]) == (400, "it starts at 2100-01-01T18:10:00.000Z, and no")
    await ask(server, "DELETE", f"/{number}")


async def test_what_is_wrong_is_one_line(server: AdminServer) -> None:
    for query, said in (
        ({"closes": "soon"}, "closes is 'soon': it is a day, 2026-01-31, or a time, 2026-01-31T12:00Z"),
        ({"closes": ""}, "closes is missing: a plan needs title, game and closes"),
        ({"nightly": "1"}, "nightly is '1': one of true, false"),
        ({"rounds": "0"}, "the number of rounds is 0: it is 1 to 100000"),
        ({"jobs": "many"}, "jobs is 'many': it is a whole number"),
        ({"set": "heap=3"}, "nim has no config key 'heap': one of heaps, take"),
        ({"closes": "2026-01-01T08:00Z"}, "it starts at 2026-01-01T08:00:00.000Z, and now it is "),
        ({"starts": "2099-01-01"}, "it starts at 2099-01-01T00:00:00.000Z, before the entries close at"),
        ({"at": "noon"}, "a plan has no field 'at': one of title, game, preset"),
    ):
        status, told = error(await ask(server, "POST", **{**CUP, **query}))
        assert (status, told[: len(said)]) == (400, said)
    assert await server.read(list_plans) == []


async def test_only_the_operator_s_token_is_accepted_and_a_wrong_method_is_told_the_right_ones(
    server: AdminServer,
) -> None:
    status, told = error(await ask(server, "POST", token="wrong", **CUP))
    assert (status, told) == (401, "that is not the token of the operator")
    refused = await ask(server, "PUT", "/1")
    assert error(refused) == (405, "/api/v1/plans/1 accepts only DELETE, GET, HEAD and POST")
    assert refused.headers["allow"] == "DELETE, GET, HEAD, POST"
    hosting = await AdminClient(server.url).send("GET", "/api/v1/bots/ann/hosting")
    assert error(hosting) == (405, "/api/v1/bots/ann/hosting accepts only POST")


async def test_on_the_page_one_is_planned_changed_and_cancelled(server: AdminServer) -> None:
    operator = await server.operator()
    fields = list({**CUP, "do": "add", "set": "heaps=3,5,7 take=3"}.items())
    assert await operator.told("/admin/plans", *fields) == "Planned: Cup."
    (planned,) = await server.read(list_plans)
    assert planned.terms.config == {"heaps": [3, 5, 7], "take": 3}
    page = (await operator.get(f"/admin/plans?plan={planned.id}")).text
    assert "Nobody yet, for this game." in page
    said = "Round-robin, 1 round, 10+0.1; with random; on runners, if there are any"
    assert f"<p>{said}.</p>" in page
    assert said in (await operator.get("/admin/plans")).text
    shown = {
        name: html.unescape(value) for name, value in re.findall(r'<input id="\w+" name="(\w+)" value="([^"]*)"', page)
    }
    assert (shown["closes"], shown["starts"]) == ("2100-01-01T18:00Z", "")
    assert shown["set"] == "heaps=[3,5,7] take=3"
    form = [*shown.items(), ("game", "nim"), ("plan", str(planned.id)), ("do", "change")]
    assert await operator.told("/admin/plans", *form, ("late", "true")) == "Changed: Cup."
    changed = await plan(server, planned.id)
    assert (changed.terms.late, changed.terms.config) == (True, planned.terms.config)
    refused = await operator.post("/admin/plans", [*form[1:], ("title", "")])
    assert (refused.status, "Title is missing" in refused.text) == (400, True)
    assert "Cup" in (await operator.get("/admin/plans")).text
    assert await operator.told("/admin/plans", ("do", "remove"), ("plan", str(planned.id))) == "Removed: Cup."
    assert await server.read(list_plans) == []
