"""The operator's pages against a running server: each of their functions, and two operators beside each other."""

from __future__ import annotations

import asyncio
import csv
import html
import io
import re
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any
from urllib.parse import unquote

import msgpack
import pytest
import pytest_asyncio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from admin_client import AdminClient
from admin_server import AdminServer, admin_server
from arena.store.incident import Incident
from arena.store.registry import log_incident
from arena.store.seasons import list_seasons
from arena.store.store import Store
from arena.store.tokens import hash_token
from in_process import call_beside, play
from protocol.messages import MAX_BAD_MESSAGES
from timeouts import WITHIN

pytestmark = pytest.mark.asyncio(loop_scope="module")
SCRIPT = "<script>alert(1)</script>"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AdminServer]:
    """One for the tests of this file, each with bots of its own."""
    async with admin_server(tmp_path_factory.mktemp("admin")) as server:
        yield server


async def tokens(operator: AdminClient, listed: str) -> list[dict[str, str]]:
    """The rows of the file that is offered after a list was sent."""
    answer = await operator.post("/admin/add", [("names", listed)])
    assert answer.status == 200, answer.text
    return offered(answer.text)


def offered(page: str) -> list[dict[str, str]]:
    found = re.search(r'href="data:text/csv;charset=utf-8,([^"]*)" download="tokens.csv"', page)
    assert found, page
    text = unquote(html.unescape(found[1]))
    return list(csv.DictReader(io.StringIO(text), delimiter=";" if ";" in text else ","))


async def row_of(operator: AdminClient, bot: str) -> str:
    """What the roster says of a bot, without tags."""
    page = (await operator.get(f"/admin?find={bot}")).text
    (row,) = [row for row in re.findall(r"<tr>\n<th scope=\"row\".*?</tr>", page, re.DOTALL) if f'value="{bot}"' in row]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", row)).split())


async def entered(server: AdminServer, bot: str, token: str, **hello: Any) -> ClientConnection:
    wire = await connect(server.served.url, compression=None)
    await wire.send(msgpack.packb({"type": "hello", "bot": bot, "token": token, **hello}))
    while (said := msgpack.unpackb(await wire.recv()))["type"] != "welcome":
        assert said["type"] != "error", said
    return wire


async def ended(wire: ClientConnection) -> str | None:
    """Why the server closed a connection."""
    async with asyncio.timeout(WITHIN):
        try:
            while True:
                await wire.recv()
        except ConnectionClosed:
            return wire.close_reason


async def test_a_list_lets_bots_in_and_their_tokens_are_shown_once(server: AdminServer) -> None:
    operator = await server.operator()
    rows = await tokens(operator, f"group,name\r\n1,anna\r\n{SCRIPT},ben\r\n")
    assert [(row["group"], row["name"]) for row in rows] == [("1", "anna"), (SCRIPT, "ben")]
    known = await server.bots()
    assert {row["name"]: hash_token(row["token"]) for row in rows} == {
        name: known[name].token_hash for name in ("anna", "ben")
    }
    assert known["anna"].approved
    for path in ("/admin", "/admin/add", "/admin/log"):
        assert rows[0]["token"] not in (await operator.get(path)).text
    await (await entered(server, "anna", rows[0]["token"])).close()
    alone = await tokens(operator, "cid\n\n  dora \n")
    assert [list(row) for row in alone] == [["name", "token"]] * 2
    assert {"cid", "dora"} <= set(await server.bots())


@pytest.mark.parametrize(
    ("listed", "says"),
    [
        ("", "write a name on each line"),
        ("name,group\nnora,1\nx y,2\nnora,3\n", "the list, line 3: 'x y' is not a name for a bot"),
        ("name,group\nnora,1\nNORA,3\n", "the list, line 3: NORA is there twice, first in line 2"),
        ("nora\n\nanyone!\n", "the list, line 3: 'anyone!' is not a name for a bot"),
        ("name,token\nnora,x\n", "there is a column token already, and tokens are made here"),
        ("bot,group\nnora,x\n", "the column name is missing"),
        (f"nora\n{SCRIPT}\n", "<script>alert(1)</script>' is not a name for a bot"),
    ],
)
async def test_what_is_wrong_in_a_list_is_said_and_nobody_is_added(server: AdminServer, listed: str, says: str) -> None:
    operator = await server.operator()
    answer = await operator.post("/admin/add", [("names", listed)])
    assert answer.status == 400
    assert says in html.unescape(answer.text).replace("The list", "the list").replace("Write", "write")
    assert SCRIPT not in answer.text
    assert html.escape(listed.strip().splitlines()[0] if listed else "") in answer.text, "it can be mended"
    assert "nora" not in await server.bots()


async def test_the_roster_says_who_is_online_when_others_were_and_what_went_wrong(server: AdminServer) -> None:
    operator = await server.operator()
    (row,) = await tokens(operator, "eve")
    assert await row_of(operator, "eve") == "eve offline never yes yes"
    wire = await entered(server, "eve", row["token"], version="<b>7</b>")
    assert "online 0 matches, version <b>7</b> , from 127.0.0.1 now" in await row_of(operator, "eve")
    for _ in range(MAX_BAD_MESSAGES):
        await wire.send(b"\xc1")
    assert await ended(wire)
    async with asyncio.timeout(WITHIN):
        while "offline" not in (told := await row_of(operator, "eve")) or "bad message" not in told.lower():
            pass
    await (await entered(server, "by-itself", "its-own-long-token")).close()
    assert re.search(r"(now|20\d\d-\d\d-\d\d \d\d:\d\d) yes no$", await row_of(operator, "by-itself"))


async def test_a_script_in_whatever_is_shown_is_text(server: AdminServer) -> None:
    operator = await server.operator()
    (row,) = await tokens(operator, f"name,{SCRIPT}\nfay,{SCRIPT}\n")
    wire = await entered(server, "fay", row["token"], version=SCRIPT, client=SCRIPT)
    with closing(Store.open(server.served.data / "arena.db", checkpoint=False)) as store:
        store.write(log_incident, "fay", Incident(at="2026-11-25T00:00:00.000Z", code=SCRIPT, text=SCRIPT))
    tries: list[tuple[str, list[tuple[str, str]]]] = [
        ("/admin/bots", [("bot", SCRIPT), ("do", "revoke")]),
        ("/admin/bots", [("bot", SCRIPT), ("do", "revoke"), ("sure", "yes")]),
        ("/admin/bots", [("bot", SCRIPT), ("do", SCRIPT)]),
        ("/admin/matches", [("ids", SCRIPT), ("do", "annul")]),
        ("/admin/matches", [("ids", SCRIPT), ("do", "annul"), ("sure", "yes")]),
        ("/admin/matches", [("of", SCRIPT), ("since", SCRIPT), ("do", "annul")]),
        ("/admin/seasons", [("name", SCRIPT)]),
        ("/admin/seasons", [("name", SCRIPT), ("sure", "yes")]),
        ("/admin/add", [("names", SCRIPT)]),
    ]
    pages = [await operator.get(f"/admin?find={SCRIPT}"), await operator.get(f"/admin/matches?bot={SCRIPT}")]
    for path, fields in tries:
        told = await operator.post(path, fields)
        pages.append(await operator.get(told.headers["location"]) if told.status == 303 else told)
    pages += [await operator.get(path) for path in ("/admin", "/admin/log", "/admin/matches", "/admin/seasons")]
    await wire.close()
    assert sum(html.escape(SCRIPT) in page.text for page in pages) >= len(tries)
    for page in pages:
        assert "<script>alert" not in page.text
        assert "Traceback" not in page.text


async def test_a_bot_is_revoked_after_a_question_and_its_connection_ends(server: AdminServer) -> None:
    operator = await server.operator()
    (row,) = await tokens(operator, "gus")
    wire = await entered(server, "gus", row["token"])
    chosen = [("bot", "gus"), ("do", "revoke")]
    asked = await operator.post("/admin/bots", chosen)
    assert "Revoke 1 bot?" in asked.text
    assert not (await server.bots())["gus"].revoked
    told = await operator.told("/admin/bots", *chosen, ("sure", "yes"))
    assert told == "Revoked: gus; 1 connection was ended."
    assert await ended(wire) == "revoked"
    assert (await server.bots())["gus"].revoked
    assert "revoked" in await row_of(operator, "gus")


async def test_a_new_token_is_shown_once_and_the_old_one_is_void(server: AdminServer) -> None:
    operator = await server.operator()
    rows = await tokens(operator, "hal\nida")
    wire = await entered(server, "hal", rows[0]["token"])
    chosen = [("bot", "hal"), ("bot", "ida"), ("do", "rotate")]
    assert "New tokens for 2 bots?" in (await operator.post("/admin/bots", chosen)).text
    new = offered((await operator.post("/admin/bots", [*chosen, ("sure", "yes")])).text)
    assert await ended(wire) == "its token was replaced"
    known = await server.bots()
    assert {row["name"]: hash_token(row["token"]) for row in new} == {
        name: known[name].token_hash for name in ("hal", "ida")
    }
    assert not {row["token"] for row in rows} & {row["token"] for row in new}
    half = await operator.post("/admin/bots", [("bot", "ida"), ("bot", "nobody"), ("do", "rotate"), ("sure", "yes")])
    assert [row["name"] for row in offered(half.text)] == ["ida"]
    assert "The other bots keep their old tokens: there is no bot called nobody" in half.text


async def test_bots_are_approved_and_no_more(server: AdminServer) -> None:
    operator = await server.operator()
    await tokens(operator, "jon\nkay")
    both = (("bot", "jon"), ("bot", "kay"))
    assert await operator.told("/admin/bots", *both, ("do", "disapprove")) == "Approval withdrawn: jon, kay."
    assert not (await server.bots())["kay"].approved
    assert await operator.told("/admin/bots", *both, ("do", "approve")) == "Approved: jon, kay."
    assert (await server.bots())["kay"].approved
    nobody = await operator.told("/admin/bots", ("bot", "jon"), ("bot", "nobody"), ("do", "disapprove"))
    assert nobody.startswith("There is no bot called nobody")
    assert (await server.bots())["jon"].approved, "all or none"
    assert (await operator.told("/admin/bots", ("do", "approve"))).startswith("Select bots first")


async def test_names_are_noted_as_peoples_and_no_more(server: AdminServer) -> None:
    operator = await server.operator()
    await tokens(operator, "uma")
    assert await operator.told("/admin/bots", ("bot", "uma"), ("do", "person")) == "Marked as people: uma."
    assert (await server.bots())["uma"].person
    assert await operator.told("/admin/bots", ("bot", "uma"), ("do", "no_person")) == "Marked as bots: uma."
    assert not (await server.bots())["uma"].person


async def test_matches_are_annulled_and_count_again_and_a_season_starts(server: AdminServer) -> None:
    operator = await server.operator()
    await asyncio.gather(*(play(server.served, name, 2) for name in ("random", "greedy")))
    page = (await operator.get("/admin/matches?bot=greedy")).text
    first, second = re.findall(r'name="match" value="([^"]+)"', page)
    asked = await operator.post("/admin/matches", [("match", first), ("do", "annul")])
    assert "Annul 1 match?" in asked.text
    one = (("match", first), ("sure", "yes"))
    assert (
        await operator.told("/admin/matches", *one, ("do", "annul")) == "1 match annulled, and nim/classic rated anew."
    )
    assert "annulled</span>" in (await operator.get("/admin/matches")).text
    bots = (("of", "greedy"), ("since", "2026-01-01"), ("sure", "yes"))
    assert (await operator.told("/admin/matches", *bots, ("do", "annul"))).startswith("1 match annulled")
    again = (("ids", f" {first}\n{second} "), ("sure", "yes"), ("do", "undo"))
    assert await operator.told("/admin/matches", *again) == "2 matches count again, and nim/classic rated anew."
    wrong = await operator.told("/admin/matches", *bots[:1], ("since", "soon"), ("do", "annul"))
    assert wrong.startswith("The day is 'soon': it is a day, 2026-01-31")
    assert "Start season second?" in (await operator.post("/admin/seasons", [("name", "second")])).text
    assert [season.season for season in await server.read(list_seasons)] == ["first"]
    assert await operator.told("/admin/seasons", ("name", "second"), ("sure", "yes")) == (
        "Season second has started: all ratings start over."
    )
    assert [season.season for season in await server.read(list_seasons)] == ["first", "second"]
    told = await operator.told("/admin/seasons", ("name", "second"), ("sure", "yes"))
    assert told.startswith("There was a season second already")


async def test_two_operators_and_the_command_line_work_beside_each_other_and_the_log_says_who(
    server: AdminServer,
) -> None:
    first, second = await server.operator(), await server.operator()
    await tokens(first, "lea")
    done = await call_beside("arena", "bot", "add", "max", "--data", str(server.served.data))
    assert done.code == 0
    assert await second.told("/admin/bots", ("bot", "lea"), ("do", "revoke"), ("sure", "yes")) == "Revoked: lea."
    assert 'role="status">Revoked' not in (await first.get()).text, "what one did is told to that one"
    newest = [(one.by, one.do, one.concerns) for one in (await server.actions())[:3]]
    assert newest == [
        ("admin page, from 127.0.0.1", "revoke", ["lea"]),
        ("command line", "register", ["max"]),
        ("admin page, from 127.0.0.1", "register", ["lea"]),
    ]
    page = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", (await first.get("/admin/log")).text)).split())
    assert "admin page, from 127.0.0.1 revoked lea" in page
    assert "command line added max" in page


async def test_a_long_roster_comes_in_pages_and_names_are_found(server: AdminServer) -> None:
    operator = await server.operator()
    await tokens(operator, "\n".join(f"zz{number}" for number in range(250)))
    page = (await operator.get("/admin?find=ZZ")).text
    assert "250 bots with “ZZ” in the name" in page
    assert page.count('name="bot"') == 200
    further = re.search(r'href="(\?find=ZZ&amp;after=[^"]+)" rel="next"', page)
    assert further
    assert (await operator.get("/admin" + html.unescape(further[1]))).text.count('name="bot"') == 50
    wrong = await operator.get("/admin?after=x")
    assert (wrong.status, "is no cursor of this list" in wrong.text) == (400, True)


async def test_a_list_of_peoples_names_comes_back_with_names_that_fit_to_be_sent_again(server: AdminServer) -> None:
    operator = await server.operator()
    refused = await operator.post("/admin/add", [("names", "Zoé Ünal\nzoe-unal\n王伟\n")])
    assert refused.status == 400
    proposed = html.unescape(re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", refused.text, re.DOTALL)[0])
    assert proposed == "name,display\nZoe-Unal-2,Zoé Ünal\nzoe-unal,\n王伟,\n"
    rows = await tokens(operator, proposed.replace("王伟,", "wangwei,王伟"))
    assert [(row["name"], row["display"]) for row in rows] == [
        ("Zoe-Unal-2", "Zoé Ünal"),
        ("zoe-unal", ""),
        ("wangwei", "王伟"),
    ]
    assert "Zoé Ünal" in await row_of(operator, "Zoe-Unal-2")


async def test_the_form_refuses_a_display_name_that_a_bot_has_and_tells_of_two_new_ones(server: AdminServer) -> None:
    operator = await server.operator()
    twice = await operator.post("/admin/add", [("names", "name,display\nana,Ana Ñ.\nana2,Ana Ñ.\n")])
    assert twice.status == 200
    told = "The list, line 3: ana2 is shown as Ana Ñ., as ana is: give one another display name"
    assert told in html.unescape(twice.text)
    for listed in ("Ana Ñ.", "name,display\neva,ana ñ.\n"):
        refused = await operator.post("/admin/add", [("names", listed)])
        assert refused.status == 400
        assert "for another person, choose another display name, like" in html.unescape(refused.text)
    assert "eva" not in await server.bots()
