"""Long answers: the same as if they were made at once, made as far as they are read, and in nobody else's way."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from arena.replay.match_document import ReplayedMatch, iter_document_json, make_document
from arena.store.store import Store
from arena.web import answers, serving
from arena.web.serving import AnswerScheduler
from arena.web.turns import FairTaskQueue
from golden import make
from library import ANN, PERFECT, Library
from referee import record_reader
from timeouts import WITHIN, rest_of
from web_client import Visitor, page_server

GOLDEN = sorted(make.HERE.glob("*.jsonl"))


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_a_match_in_pieces_is_the_whole(file: Path) -> None:
    data = gzip.compress(file.read_bytes())
    record = record_reader.read_record(data, "x")
    pieces = iter_document_json(ReplayedMatch(record), "nim/classic")
    whole = msgspec.structs.replace(make_document(record), annulled="nim/classic")
    assert b"".join(pieces) == msgspec.json.encode(whole)


def test_a_forged_match_in_pieces_is_the_whole() -> None:
    text = make.HERE.joinpath("nim-classic.jsonl").read_bytes().replace(b'"take":1', b'"take":2', 1)
    record = record_reader.read_record(text, "x")
    assert make_document(record).fault is not None
    pieces = iter_document_json(ReplayedMatch(record))
    assert b"".join(pieces) == msgspec.json.encode(make_document(record))


def test_a_match_that_ends_in_the_midst_of_a_round_in_pieces_is_the_whole() -> None:
    lines = make.HERE.joinpath("dilemma-prison.jsonl").read_bytes().splitlines(keepends=True)
    record = record_reader.read_record(b"".join([*lines[:-2], lines[-1]]), "x")
    assert [choice.ply for choice in make_document(record).sealed] == [9, 9]
    pieces = iter_document_json(ReplayedMatch(record))
    assert b"".join(pieces) == msgspec.json.encode(make_document(record))


@pytest.mark.parametrize("of", ["", "/record.jsonl", "/record.jsonl.gz", "/match.html"])
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_long_answer_is_the_same_in_pieces(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch, of: str, encoding: str
) -> None:
    match = Library(visitor.store).play("nim", [PERFECT, ANN._replace(ends="resign", at=2)])
    address = f"/api/v1/matches/{match}{of}"
    at_once = visitor.get(address)
    monkeypatch.setattr(answers, "STREAMING_THRESHOLD_BYTES", 100)
    monkeypatch.setattr(answers, "PIECE_BYTES", 50)
    told = visitor.get(address, accept_encoding=encoding)
    assert "content-length" not in told.headers
    assert (gzip.decompress(told.body) if encoding == "gzip" else told.body) == at_once.body
    assert told.headers["content-type"] == at_once.headers["content-type"]
    assert visitor.get(address, method="HEAD").body == b""
    again = visitor.get(address, if_none_match=told.headers["etag"])
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", told.headers["etag"])


class Endless:
    """The packed record of any match: an answer without end. `made` are its bytes so far; `ended` is set at its end."""

    def __init__(self) -> None:
        self.made = 0
        self.ended = threading.Event()

    def __call__(self, data: bytes, name: str) -> Iterator[bytes]:
        try:
            while True:
                self.made += 10_000
                yield bytes(10_000)
        finally:
            self.ended.set()


@pytest.fixture
async def port(tmp_path: Path) -> AsyncIterator[int]:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        Library(store).play("nim", [PERFECT, ANN])
    async with page_server(tmp_path) as port:
        yield port


async def ask(
    port: int, address: str, source: str = "127.0.0.1", more: str = ""
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0), limit=4096)
    writer.write(f"GET {address} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n".encode())
    return reader, writer


async def match_of(port: int) -> str:
    reader, writer = await ask(port, "/api/v1/matches", more="Connection: close\r\n")
    body = await rest_of(reader)
    writer.close()
    found: str = msgspec.json.decode(body.partition(b"\r\n\r\n")[2])["rows"][0]["match"]
    return found


async def test_an_answer_is_made_as_far_as_it_is_read_and_ends_with_its_reader(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = Endless()
    monkeypatch.setattr(record_reader, "iter_unpacked", endless)
    match = await match_of(port)
    reader, writer = await ask(port, f"/api/v1/matches/{match}/record.jsonl", "127.0.0.66")
    assert await asyncio.wait_for(reader.readline(), WITHIN) == b"HTTP/1.1 200 OK\r\n"
    other = await ask(port, f"/api/v1/matches/{match}/record.jsonl.gz", more="Connection: close\r\n")
    assert (await rest_of(other[0])).startswith(b"HTTP/1.1 200")  # though nobody reads the other
    assert not endless.ended.is_set()
    assert endless.made < 30_000_000  # what the kernel takes, and little more
    writer.transport.abort()
    assert await asyncio.to_thread(endless.ended.wait, WITHIN)
    other[1].close()


async def test_whoever_holds_most_makes_room_for_the_newest(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reader, "iter_unpacked", Endless())
    monkeypatch.setattr(serving, "MAX_HELD_BYTES", 2 * serving.MIN_HELD_BYTES)
    address = f"/api/v1/matches/{await match_of(port)}/record.jsonl"
    asking = []
    for source in ("127.0.0.66", "127.0.0.66", "127.0.0.2"):
        asking.append(await ask(port, address, source))
        assert await asyncio.wait_for(asking[-1][0].readline(), WITHIN) == b"HTTP/1.1 200 OK\r\n"
    first, *others = asking
    assert not (await asyncio.wait_for(first[0].read(-1), WITHIN)).endswith(b"0\r\n\r\n")
    for one in others:
        assert not one[0].at_eof()
        one[1].transport.abort()
    first[1].close()


async def test_of_answers_under_way_the_oldest_of_the_address_with_the_most_is_cut() -> None:
    here, loop = AnswerScheduler(), asyncio.get_running_loop()
    answers = [loop.create_future() for _ in range(serving.MAX_HELD_BYTES // serving.MIN_HELD_BYTES)]
    for number, answer in enumerate(answers):
        here.enter(f"10.0.0.{number // 2}", 0, answer)
    here.enter("10.0.0.1", 0, new := loop.create_future())
    assert [number for number, answer in enumerate(answers) if answer.cancelled()] == [2]
    assert [here.leave(new), here.leave(answers[2])] == [True, False]
    here.enter("10.0.1.1", 0, new)
    assert sum(answer.cancelled() for answer in (*answers, new)) == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_body_is_refused_unread_and_its_connection_ends(port: int, method: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{method} /api/v1/games HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000000\r\n\r\n".encode())
    told = await rest_of(reader)
    assert told.startswith(b"HTTP/1.1 413 ")
    assert told.endswith(b'{"error":{"message":"a request to these pages must have no body"}}')
    writer.close()


async def stays() -> bool:
    return False


async def test_addresses_take_turns_and_an_address_answers_whoever_asked_first() -> None:
    turns, done = FairTaskQueue(1, 10, 10), list[str]()
    names = ("a1", "a2", "a3", "b1", "b2", "c1")
    async with turns.turn("z", stays):
        waiting = [asyncio.create_task(turns.run(name[0], partial(done.append, name), stays)) for name in names]
        await asyncio.sleep(0)
        waiting.pop(1).cancel()
    await asyncio.gather(*waiting)
    assert done == ["a1", "b1", "c1", "a3", "b2"]


async def test_nothing_is_done_for_whoever_has_gone() -> None:
    async def goes() -> bool:
        return True

    turns, done = FairTaskQueue(1, 10, 10), list[str]()
    with pytest.raises(ClientDisconnect):
        await turns.run("a", partial(done.append, "b"), goes)
    await turns.run("a", partial(done.append, "c"), stays)
    assert done == ["c"]


async def test_who_leaves_as_their_turn_comes_lets_the_next_in() -> None:
    turns, done = FairTaskQueue(1, 10, 10), list[str]()
    async with turns.turn("a", stays):
        first, second = (asyncio.create_task(turns.run("a", partial(done.append, name), stays)) for name in "bc")
        await asyncio.sleep(0)
        first.cancel()
    await asyncio.wait([first, second], timeout=WITHIN)
    assert (first.cancelled(), done) == (True, ["c"])
    await turns.run("a", partial(done.append, "d"), stays)
    assert done == ["c", "d"]


async def test_whoever_asks_too_much_at_once_is_told_when_to_ask_again() -> None:
    turns, go_on = FairTaskQueue(1, 2, 3), threading.Event()
    waiting = [asyncio.create_task(turns.run(one, lambda: go_on.wait(WITHIN), stays)) for one in "aaab"]
    await asyncio.sleep(0)
    told = []
    for address in "ac":
        with pytest.raises(HTTPException) as refused:
            await turns.run(address, lambda: None, stays)
        told.append((refused.value.status_code, refused.value.detail, refused.value.headers))
    assert told == [
        (429, "2 requests of a wait for an answer: ask again in 5 s", {"retry-after": "5"}),
        (503, "3 requests wait for an answer: ask again in 5 s", {"retry-after": "5"}),
    ]
    go_on.set()
    await asyncio.gather(*waiting)
