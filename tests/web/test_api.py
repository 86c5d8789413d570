"""The JSON API over a real socket: what it answers, in which words, and what it says where something is wrong."""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import os
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from openapi_spec_validator import validate

from arena.replay.grading import Grades
from arena.store.database_copy import copy_database
from arena.store.database_url import open_database_url
from arena.store.finish import finish_matches
from arena.store.match_search import Search, search_matches
from arena.store.result_queries import record_of
from arena.store.store import Reader, Store
from arena.store.tournaments import tournaments_page
from arena.web.api.operation import PREFIX, Operation
from arena.web.api.operations import OPERATIONS, MatchesQuery
from arena.web.grading import Grading
from arena.web.site import Site
from commands import call
from example_games import EXAMPLES
from library import Library, fill
from machine.game_discovery import GAME_FILES_VARIABLE, add_game_file
from postgres import new_database
from protocol.games import remove_game
from seasons import finish, result
from stored_matches import storable
from timeouts import WITHIN
from web_client import Answer, Visitor, answer, open_pages, served


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    store = Store.open(folder / "arena.db")
    store.write(
        finish_matches,
        [storable(result("garbled"), b"no record"), storable(result("empty"), b"")],
    )
    fill(Library(store))
    store.close()
    return folder


@pytest.fixture(scope="module", autouse=True)
def brought() -> Iterator[str]:
    """Bring a game as a file."""
    (name,) = add_game_file(EXAMPLES / "pig.py")
    yield name
    remove_game(name)
    del os.environ[GAME_FILES_VARIABLE]


@pytest.fixture(scope="module")
def api(folder: Path) -> Iterator[Visitor]:
    with open_pages(folder) as api:
        yield api


@pytest.fixture(scope="module")
def names(api: Visitor, brought: str) -> dict[str, str]:
    match = api.store.read(search_matches, Search(game="nim", bot="perfect")).rows[0].match
    tournament = api.store.read(tournaments_page).rows[0].tournament
    return {
        "bot": "perfect",
        "pool": "nim/classic",
        "match": match,
        "solved": match,
        "tournament": tournament,
        "brought": brought,
    }


def asked(api: Visitor, address: str, **headers: str) -> Any:
    answer = api.get(PREFIX + address, **headers)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json"), answer.text
    return json.loads(answer.body)


def refused(api: Visitor, address: str, method: str = "GET") -> tuple[int, str]:
    answer = api.get(PREFIX + address, method)
    assert answer.headers["content-type"] == "application/json"
    told = json.loads(answer.body)
    assert list(told) == ["error"]
    assert list(told["error"]) == ["message"]
    return answer.status, told["error"]["message"]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_example_is_answered_and_then_known(api: Visitor, names: Mapping[str, str], operation: Any) -> None:
    address = PREFIX + operation.example.format_map(names)
    answer = api.get(address)
    media = answer.headers["content-type"].partition(";")[0]
    assert (answer.status, media) == (200, operation.media)
    assert answer.headers["access-control-allow-origin"] == "*"
    again = api.get(address, if_none_match=answer.headers["etag"])
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", answer.headers["etag"])
    head = api.get(address, "HEAD")
    assert (head.status, head.body, head.headers["etag"]) == (200, b"", answer.headers["etag"])


def test_an_arena_on_a_server_gives_every_answer_byte_for_byte(
    api: Visitor, names: Mapping[str, str], folder: Path
) -> None:
    there = open_database_url(new_database(made=False))
    copy_database(open_database_url(folder / "arena.db"), there)
    addresses = [PREFIX + operation.example.format_map(names) for operation in OPERATIONS]
    addresses += [
        "/",
        "/bots/perfect",
        "/matches?bot=perfect&outcome=won",
        f"/matches/{names['match']}",
        "/tournaments",
        f"/tournaments/{names['tournament']}",
        "/wall",
        "/leaderboard",
        "/leaderboard/dilemma/axelrod",
        "/leaderboard/nim/classic?season=first",
        *(f"/leaderboard/nim/classic?search=AN&sort={of}&order=asc" for of in ("bot", "played", "score")),
        "/leaderboard?search=nobody",
        "/leaderboard?sort=luck",
    ]
    with closing(Reader.open(there)) as reader, served(Site(reader)) as url:
        for address in addresses:
            assert answer(url + address).body == api.get(address).body, address


def test_the_description_is_openapi_and_has_every_operation(api: Visitor) -> None:
    told = asked(api, "/openapi.json")
    validate(told)
    assert list(told["paths"]) == [operation.path for operation in OPERATIONS]
    parameters = told["paths"]["/matches"]["get"]["parameters"]
    assert {each["name"] for each in parameters} == set(MatchesQuery.__struct_fields__)
    assert told["paths"]["/bots/{bot}/history"]["get"]["parameters"][1] | {"schema": {}} == {
        "name": "pool",
        "in": "query",
        "required": True,
        "schema": {},
    }


def test_answers_are_what_the_description_says(api: Visitor, names: Mapping[str, str]) -> None:
    schemas = asked(api, "/openapi.json")
    for operation in OPERATIONS:
        content = schemas["paths"][operation.path]["get"]["responses"]["200"]["content"][operation.media]
        if content:
            name = content["schema"]["$ref"].rpartition("/")[2]
            told = asked(api, operation.example.format_map(names))
            known = schemas["components"]["schemas"][name]["properties"]
            assert told.keys() <= known.keys(), operation.name


@pytest.mark.parametrize(
    ("words", "address", "within"),
    [
        (["leaderboard", "--game", "nim"], "/leaderboard/nim/classic", lambda told: told[0]["rows"]),
        (["matches", "--bot", "ann"], "/matches?bot=ann&limit=500", lambda told: told),
        (["replay", "show", "MATCH"], "/matches/{match}", lambda told: told),
        (["replay", "grade", "MATCH"], "/matches/{match}/grades", lambda told: told),
    ],
    ids=["leaderboard", "matches", "show", "grade"],
)
def test_commands_and_api_say_the_same_in_the_same_words(
    api: Visitor, names: Mapping[str, str], folder: Path, words: list[str], address: str, within: Any
) -> None:
    done = call(
        "arena", *(names["match"] if word == "MATCH" else word for word in words), "--json", "--data", str(folder)
    )
    assert done.code == 0, done.err
    by_command, by_api = within(json.loads(done.out)), asked(api, address.format_map(names))
    if not isinstance(by_command, list):
        assert by_api == by_command
        return
    rows = [{name: row[name] for name in by_command[0]} for row in by_api["rows"]]
    assert rows == by_command


def test_the_bots_are_those_that_the_command_lists_without_their_tokens(api: Visitor, folder: Path) -> None:
    done = call("arena", "bot", "list", "--json", "--data", str(folder))
    whole = asked(api, "/bots?limit=500")["rows"]
    told = [{name: row[name] for name in ("bot", "approved")} for row in json.loads(done.out)]
    assert [{name: row[name] for name in ("bot", "approved")} for row in whole] == told
    assert {"token", "token_hash"}.isdisjoint(whole[0])
    first = asked(api, "/bots?limit=2")
    second = asked(api, f"/bots?limit=500&after={first['next']}")
    assert first["rows"] + second["rows"] == whole
    assert [row["bot"] for row in asked(api, "/bots?search=PERF")["rows"]] == ["perfect"]
    assert asked(api, "/bots/perfect")["bot"] == "perfect"


def test_searching_asks_for_all_that_the_store_can_find() -> None:
    assert set(Search.__struct_fields__) < set(MatchesQuery.__struct_fields__)


@pytest.mark.parametrize(
    ("query", "limit"),
    [("", 7), ("bot=ann&", 7), ("game=nim&outcome=lost&bot=perfect&", 1), ("pool=tictactoe/classic&", 1)],
)
def test_following_the_cursors_gives_every_match_once_in_order(api: Visitor, query: str, limit: int) -> None:
    whole = [row["match"] for row in asked(api, f"/matches?{query}limit=500")["rows"]]
    found: list[str] = []
    address: str | None = f"{PREFIX}/matches?{query}limit={limit}"
    while address is not None:
        answer = api.get(address)
        page = json.loads(answer.body)
        found += [row["match"] for row in page["rows"]]
        link = answer.headers.get("link")
        assert (link is None) == (page["next"] is None)
        address = link and link.removeprefix("<").removesuffix('>; rel="next"')
    assert found == whole
    assert len(set(found)) == len(found)


def test_the_next_page_is_named_under_whatever_spelling_of_a_name_was_asked_for(visitor: Visitor) -> None:
    finish(visitor.store, result("m1", ("kim", "ann")), result("m2", ("kim", "bob")))
    first = visitor.get(f"{PREFIX}/bots/%E2%84%AAim/opponents?pool=nim/classic&limit=1")  # the sign of the kelvin
    link = first.headers["link"].removeprefix("<").removesuffix('>; rel="next"')
    assert [row["opponent"] for row in json.loads(visitor.get(link).body)["rows"]] == ["bob"]


def test_matches_that_are_added_while_pages_are_read_neither_repeat_nor_hide_one(visitor: Visitor) -> None:
    finish(visitor.store, *(result(f"old-{number}") for number in range(9)))
    found: list[str] = []
    after = ""
    while after is not None:
        page = asked(visitor, f"/matches?bot=ann&limit=2&after={after}")
        found += [row["match"] for row in page["rows"]]
        finish(visitor.store, result(f"new-{len(found)}"))
        after = page["next"]
    assert found == [f"old-{number}" for number in reversed(range(9))]


@pytest.mark.parametrize(
    ("address", "status", "message"),
    [
        ("/matches/nowhere", 404, "there is no finished match 'nowhere'"),
        ("/matches/nowhere/grades", 404, "there is no finished match 'nowhere'"),
        ("/matches/nowhere/record.jsonl.gz", 404, "there is no finished match 'nowhere'"),
        ("/bots/nobody", 404, "there is no bot called 'nobody'"),
        ("/bots/nobody/opponents?pool=nim/classic", 404, "there is no bot called 'nobody'"),
        ("/bots/ann/history", 400, "pool is missing: add it, as in /api/v1/bots/ann/history?pool=nim/classic"),
        ("/tournaments/t0", 404, "there is no tournament 't0'"),
        ("/leaderboard/nim/odd", 404, "nim has no preset 'odd': one of classic, "),
        ("/leaderboard/chess/classic", 404, "there is no game 'chess': one of nim, grundy"),
        ("/leaderboard/grundy/large", 404, "no match was rated in grundy/large yet; pools with ratings: "),
        ("/matches?game=chess", 400, "there is no game 'chess': one of nim, grundy"),
        ("/matches?pool=nim", 400, "there is no pool 'nim': one of "),
        ("/matches?pool=nim/foo&game=nim", 400, "there is no pool 'nim/foo': one of "),
        ("/pools?game=chess", 400, "there is no game 'chess': one of nim, grundy"),
        ("/matches?bot=nobody", 400, "there is no bot called 'nobody'"),
        ("/matches?bot=ann&opponent=nobody", 400, "there is no bot called 'nobody'"),
        ("/matches?tournament=t0", 400, "there is no tournament 't0'"),
        ("/matches?after=x", 400, "'x' is no cursor of this list"),
        ("/matches?limit=0", 400, "limit is '0': an integer from 1 to 500"),
        ("/matches?limit=501", 400, "limit is '501': an integer from 1 to 500"),
        ("/matches?limit=ten", 400, "limit is 'ten': an integer from 1 to 500"),
        ("/matches?outcome=odd", 400, "outcome is 'odd': one of drawn, lost, void, won"),
        ("/leaderboard/nim/classic?descending=maybe", 400, "descending is 'maybe': true or false"),
        ("/leaderboard/nim/classic?sort=luck", 400, "sort is 'luck': one of bot, draws, "),
        ("/matches?bots=ann", 400, "there is no field 'bots' in this query: one of after, limit, bot, "),
        ("/games?game=nim", 400, "there is no field 'game' in this query: nothing"),
        ("/matches?bot=ann&bot=bob", 400, "bot is in the query twice"),
        ("/nothing", 404, "there is nothing at /api/v1/nothing"),
        ("/matches/garbled", 500, "garbled is not a match record: line 1: "),
        ("/matches/empty", 500, "empty is empty: a match record begins with a header line"),
        ("/matches/empty/grades", 500, "empty is empty: a match record begins with a header line"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(api: Visitor, address: str, status: int, message: str) -> None:
    told = refused(api, address)
    assert told[0] == status
    assert told[1].startswith(message), told[1]


@pytest.mark.parametrize("of", ["history", "opponents", "seats", "versions", "endings"])
def test_a_pool_that_is_none_is_refused_and_one_without_matches_is_empty(api: Visitor, of: str) -> None:
    status, message = refused(api, f"/bots/ann/{of}?pool=nim/foo")
    assert (status, message[:35]) == (400, "there is no pool 'nim/foo': one of ")
    for pool in ("risk-campaign/world", "risk-duel/unrated"):
        assert asked(api, f"/bots/ann/{of}?pool={pool}")["rows"] == []


def test_what_takes_long_is_done_for_nobody_who_has_gone(
    api: Visitor, names: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    graded: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def grade(_: Grading, body: bytes, name: str, seat: None) -> Grades:
        graded.append(name)
        begun.set()
        assert go_on.wait(WITHIN)
        return Grades(match=name, game="nim", moves=[], seats=[])

    monkeypatch.setattr(Grading, "grade_here", grade)
    address = f"{PREFIX}/matches/{names['match']}/grades"
    with ThreadPoolExecutor() as pool:
        first = pool.submit(api.get, address)
        assert begun.wait(WITHIN)
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", int(api.url.rpartition(":")[2]))) as leaving:
                leaving.sendall(f"GET {address} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        last = pool.submit(api.get, address)
        assert api.get("/healthz").status == 200  # by then it is known who has gone
        go_on.set()
        assert [asking.result(WITHIN).status for asking in (first, last)] == [200, 200]
    assert len(graded) == 2


def test_a_game_that_is_not_solved_has_no_grades(api: Visitor) -> None:
    (found,) = asked(api, "/matches?game=tictactoe&limit=1")["rows"]
    assert refused(api, f"/matches/{found['match']}/grades")[0] == 400


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_written(api: Visitor, method: str) -> None:
    assert refused(api, "/matches", method) == (405, "/api/v1/matches accepts only GET and HEAD")
    assert set(api.get(f"{PREFIX}/matches", method).headers["allow"].split(", ")) == {"GET", "HEAD"}


def test_scripts_of_any_page_may_read_the_api_and_no_other_page(api: Visitor) -> None:
    may = api.get(f"{PREFIX}/matches", "OPTIONS", origin="https://elsewhere.example")
    assert (may.status, may.headers["access-control-allow-methods"]) == (204, "GET, HEAD")
    assert "access-control-allow-credentials" not in may.headers
    assert api.get(f"{PREFIX}/nothing").headers["access-control-allow-origin"] == "*"
    for address in ("/", "/nowhere", "/api"):
        assert "access-control-allow-origin" not in api.get(address).headers


def test_answers_travel_compressed(api: Visitor, names: Mapping[str, str]) -> None:
    address = f"{PREFIX}/matches/{names['match']}"
    plain, zipped = api.get(address), api.get(address, accept_encoding="gzip")
    assert zipped.headers["content-encoding"] == "gzip"
    assert gzip.decompress(zipped.body) == plain.body


def test_a_record_is_saved_as_it_was_closed(api: Visitor, names: Mapping[str, str]) -> None:
    closed = api.store.read(record_of, names["match"])
    assert closed is not None
    packed, lines = (api.get(f"{PREFIX}/matches/{names['match']}/record.{kind}") for kind in ("jsonl.gz", "jsonl"))
    assert packed.body == closed
    assert lines.body == gzip.decompress(closed)
    assert [disposition(answer) for answer in (packed, lines)] == [
        f'attachment; filename="{names["match"]}.{kind}"' for kind in ("jsonl.gz", "jsonl")
    ]


def disposition(answer: Answer) -> str:
    return answer.headers["content-disposition"]


def test_of_a_forged_record_all_is_told_that_holds_and_where_it_goes_wrong(api: Visitor, visitor: Visitor) -> None:
    (found,) = asked(api, "/matches?game=risk-duel&limit=1")["rows"]
    whole = asked(api, f"/matches/{found['match']}")
    lines = gzip.decompress(api.store.read(record_of, found["match"]) or b"").splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if b'"dice":[[' in line)
    line = json.loads(lines[at])
    line["event"]["dice"][0][0] = line["event"]["dice"][0][0] % 6 + 1
    lines[at] = json.dumps(line).encode() + b"\n"
    visitor.store.write(finish_matches, [storable(result("forged"), gzip.compress(b"".join(lines)))])
    told = asked(visitor, "/matches/forged")
    assert f"ply {line['event']['ply']}: dice should be" in told["fault"]
    assert told["plies"][: at - 1] == whole["plies"][: at - 1]
    assert "fault" not in whole
    assert ["state" in ply for ply in told["plies"]] == [True] * (at - 1) + [False] * (len(told["plies"]) - at + 1)
    assert refused(visitor, "/matches/forged/grades") == (500, told["fault"])


def address(operation: Operation) -> str:
    """Where it is asked, with what its query can't do without."""
    needed = [f"{field.name}={{{field.name}}}" for field in msgspec.structs.fields(operation.query) if field.required]
    return f"{operation.path}?{'&'.join(needed)}" if needed else operation.path


def test_the_document_lists_every_operation_in_its_words_with_what_has_to_be_asked() -> None:
    told = (Path(__file__).parents[2] / "docs" / "api.md").read_text()
    rows = [f"| `{address(operation)}` | {operation.summary} |" for operation in OPERATIONS]
    assert [line for line in told.splitlines() if line.startswith("| `/")] == rows


def test_the_source_of_a_brought_game_is_told_with_its_digest(api: Visitor, brought: str) -> None:
    told = asked(api, f"/games/{brought}/source")
    content = (EXAMPLES / "pig.py").read_bytes()
    assert told == {
        "game": "pig",
        "version": "1",
        "digest": hashlib.sha256(content).hexdigest(),
        "source": content.decode(),
    }
    assert refused(api, "/games/nim/source") == (
        404,
        "nim is not a game of a file, whose source can be told: it belongs to an installed package",
    )
    assert refused(api, "/games/halma/source") == (404, "this arena does not have the rules of halma")


def test_every_example_on_the_page_of_the_api_is_answered(api: Visitor) -> None:
    page = api.get("/api").text
    examples = [html.unescape(found) for found in re.findall(r'For example <a href="([^"]+)"', page)]
    assert len(examples) == len(OPERATIONS)
    for example in examples:
        assert api.get(example).status == 200, example
    for operation in OPERATIONS:
        assert f"<code>{PREFIX}{operation.path}</code>" in page
        for field in operation.query.__struct_fields__:
            assert f'<th scope="row"><code>{field}</code></th>' in page


def test_of_an_empty_arena_the_page_of_the_api_has_no_examples_that_fail(visitor: Visitor) -> None:
    page = visitor.get("/api")
    assert page.status == 200
    assert "/api/v1/matches/{match}</code>" in page.text
    assert visitor.get("/api/v1/matches").status == 200
    assert 'href="/api/v1/matches/' not in page.text


def test_whoever_watches_over_the_page_hears_whether_its_store_answers(visitor: Visitor) -> None:
    assert (visitor.get("/readyz").status, visitor.get("/readyz").body) == (200, b'{"status":"ok"}')
    visitor.store.database.file.write_bytes(b"no database" * 1000)
    visitor.store.database.file.with_name("arena.db-wal").unlink(missing_ok=True)
    answer = visitor.get("/readyz")
    assert answer.status == 503
    assert str(visitor.store.database.file) in json.loads(answer.body)["error"]["message"]
    assert (visitor.get("/healthz").status, visitor.get("/healthz").body) == (200, b'{"status":"ok"}')
