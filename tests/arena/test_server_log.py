"""What a server writes about what goes on: who came and left, matches, refusals; and how a flood of them is borne."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import queue
import sys
from collections.abc import Callable
from functools import partial
from logging.handlers import QueueHandler
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from arena.host import event_log
from arena.host.event_log import EventLog
from arena.network.connection import CloseInfo
from arena.store.database import StoreUnavailable
from commands import call
from machine import log_output
from machine.log_output import JsonLines, LineLimit, SuppressedLineCounter, TextLines, log_fields
from processes import serving
from timeouts import WITHIN


@pytest.fixture
def written(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, "arena.events")
    return caplog


def of(caplog: pytest.LogCaptureFixture, event: str) -> list[logging.LogRecord]:
    return [record for record in caplog.records if getattr(record, "event", "") == event]


async def test_who_comes_is_told_with_its_version_client_and_address(serve: Any, written: Any) -> None:
    served = await serve()
    await served.enter("ann", version="1.2", client="mine/0")
    [came] = of(written, "came")
    assert came.levelname == "INFO"
    assert came.getMessage() == "ann 1.2 (mine/0) connected from 127.0.0.1"
    assert came.fields == {"bot": "ann", "version": "1.2", "client": "mine/0", "address": "127.0.0.1"}


async def test_a_match_is_told_as_it_begins_at_debug_and_as_it_ends_at_info(serve: Any, written: Any) -> None:
    served = await serve()
    first, second, start = await served.begun(config={"heaps": [1]})
    await asyncio.gather(first.play(), second.play())
    [begun], [ended] = of(written, "begun"), of(written, "ended")
    assert (begun.levelname, ended.levelname) == ("DEBUG", "INFO")
    winner, loser = (player["bot"] for player in start["seats"])
    assert ended.getMessage() == f"{start['match']} ended: nim, 1. {winner}, 2. {loser}, win after 1 plies"
    assert ended.fields["ranks"] == [1, 2]
    assert (
        begun.fields["config"] == ended.fields["config"] == '{"heaps":[1],"take":null,"misere":false,"start":"given"}'
    )
    assert served.arena.host.events.count_ended_within(60) == 1


async def test_who_leaves_is_told_with_the_reason_and_whose_fault_it_was(serve: Any, written: Any) -> None:
    served = await serve()
    well, badly = await served.enter("ann"), await served.enter("bob")
    await well.wire.close()
    badly.wire.transport.abort()
    await asyncio.gather(*(session.connection.wait_closed() for session in served.arena.host.clients.sessions.values()))
    await served.arena.close()
    left = {record.fields["bot"]: record for record in of(written, "left")}
    assert left["ann"].getMessage() == "ann disconnected: the bot closed the connection (1000)"
    assert left["bob"].getMessage() == "bob disconnected: the connection broke without a close frame"
    assert [left[bot].fields["failed"] for bot in ("ann", "bob")] == [False, True]
    assert [failure.who for failure in served.arena.host.events.failures] == ["bob"]


async def test_who_is_refused_is_told_with_the_reason(serve: Any, written: Any) -> None:
    served = await serve()
    await served.enter("ann")
    client = await served.connect()
    await client.send(type="hello", bot="ann", token="*" * 20)
    await client.closed()
    with pytest.raises(InvalidStatus):
        await connect(f"ws://127.0.0.1:{served.port}", origin="http://evil.example")
    wrong, page = of(written, "refused")
    assert wrong.getMessage() == (
        "ann from 127.0.0.1 was rejected: ann is taken here, not by this token; choose another name, or give its token"
    )
    assert "pages of 'http://evil.example' may not connect" in page.getMessage()


async def test_a_flood_of_refusals_is_written_in_part_and_then_counted(written: Any) -> None:
    told = EventLog(partial(asyncio.sleep, 0), lambda: 0.0)
    for _ in range(1000):
        told.log_refused("10.0.0.1", "it connects too often")
    told.log_connected("ann", "", "", "10.0.0.2")
    await told.close()
    assert (len(of(written, "refused")), len(of(written, "came"))) == (event_log.ADDRESS_LINES_RATE.burst, 1)
    [left_out] = of(written, "left_out")
    assert left_out.fields == {"refused": 1000 - event_log.ADDRESS_LINES_RATE.burst}
    assert len(told.failures) == event_log.MAX_FAILURES


async def test_of_bots_that_come_and_go_as_planned_a_line_may_be_left_out_but_not_of_trouble(written: Any) -> None:
    told = EventLog(partial(asyncio.sleep, 0), lambda: 0.0)
    told.client_level = logging.DEBUG
    told.log_connected("ann", "", "", "10.0.0.1")
    told.log_disconnected("ann", "10.0.0.1", CloseInfo(1001, "the arena stops", by_arena=True), "", 0)
    told.log_disconnected("ben", "10.0.0.1", CloseInfo(None, "", by_arena=False), "", 1)
    await told.close()
    assert [line.levelname for event in ("came", "left") for line in of(written, event)] == ["DEBUG", "DEBUG", "INFO"]


@pytest.mark.parametrize(
    ("config", "told"),
    [({"preset": "classic"}, "classic"), ({"heaps": [1] * 40}, f'{{"heaps":[{"1," * 35}... (')],
)
async def test_a_config_is_told_by_the_name_of_its_preset_and_a_long_one_in_part(
    serve: Any, written: Any, config: dict[str, Any], told: str
) -> None:
    served = await serve()
    first, second, _ = await served.begun(config=config)
    await asyncio.gather(first.play(), second.play())
    [begun], [ended] = of(written, "begun"), of(written, "ended")
    assert begun.fields["config"] == ended.fields["config"]
    assert begun.fields["config"].startswith(told)


def logger_of(name: str) -> tuple[logging.Logger, Callable[[], list[str]], list[float]]:
    """A logger of this name apart from all others, the lines that were written, and its clock."""
    clock = [0.0]
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(TextLines())
    handler.addFilter(LineLimit(lambda: clock[0]))
    logger = logging.Logger(name, logging.INFO)
    logger.addHandler(handler)
    return logger, lambda: text.getvalue().splitlines(), clock


@pytest.mark.parametrize("library", ["asyncio", "uvicorn.error", "websockets.server", "arena.network.listener"])
def test_what_strangers_have_libraries_say_is_counted_with_what_they_do_themselves(library: str) -> None:
    logger, lines, clock = logger_of("arena.events")
    for number in range(200):
        logger.info("%d came", number, extra={"event": "came", "of_stranger": True})
    logger.name = library
    for number in range(200):
        logger.warning("invalid request %d", number)
    assert len(lines()) == log_output.STRANGER_LINES_RATE.burst
    logger.name = "arena.serve"
    logger.info("this is the arena's own")
    assert lines()[-1] == "arena: this is the arena's own"
    clock[0] += 1
    logger.name = library
    for number in range(200):
        logger.warning("invalid request %d", number)
    assert len(lines()) == log_output.STRANGER_LINES_RATE.burst + 1 + log_output.STRANGER_LINES_RATE.per_second


def test_what_strangers_had_no_line_for_is_counted_and_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "arena.log")
    limit = LineLimit(lambda: 0.0)
    for event in ("came", "left"):
        for _ in range(log_output.STRANGER_LINES_RATE.burst):
            record = logging.LogRecord("arena.events", logging.INFO, "", 0, "", (), None)
            record.event, record.of_stranger = event, True
            limit.filter(record)
    limit.suppressed.report()
    limit.suppressed.report()
    [left_out] = of(caplog, "left_out")
    assert left_out.fields == {"left": log_output.STRANGER_LINES_RATE.burst}


def test_how_much_was_left_out_is_told_after_a_while_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_output, "SUMMARY_DELAY_S", 0.0)
    told: queue.Queue[logging.LogRecord] = queue.Queue()
    to = logging.Logger("to", logging.INFO)
    to.addHandler(QueueHandler(told))
    left_out = SuppressedLineCounter(to)
    for number in range(2):
        left_out.add(f"event {number}")
        assert told.get(timeout=WITHIN).getMessage().endswith(f"left out here: 1 event {number}")


@pytest.mark.parametrize("form", [TextLines(), JsonLines()])
def test_a_line_is_cut_where_it_is_too_long_and_says_so(form: logging.Formatter) -> None:
    try:
        raise ValueError("x" * 10**5)
    except ValueError:
        trouble = sys.exc_info()
    record = logging.LogRecord("arena", logging.INFO, "", 0, "%s", ("\x1b" * 10**5,), trouble)
    record.fields = {"version": "y" * 10**5, "map": {"name": ["\U000e0041" * 10**5]}, "plies": 7}
    text = form.format(record)
    assert len(text) < 30 * log_output.MAX_TEXT_CHARS
    assert "characters more)" in text
    if isinstance(form, JsonLines):
        assert json.loads(text)["fields"]["plies"] == 7


@pytest.mark.parametrize("form", [TextLines(), JsonLines()])
def test_a_connection_that_breaks_in_the_hands_of_a_library_is_a_line_without_a_traceback(
    form: logging.Formatter,
) -> None:
    try:
        raise ConnectionResetError(104, "Connection reset by peer")
    except OSError:
        trouble = sys.exc_info()
    text = form.format(logging.LogRecord("asyncio", logging.ERROR, "", 0, "fatal error", (), trouble))
    assert "fatal error: [Errno 104] Connection reset by peer" in text
    assert "Traceback" not in text
    assert "Traceback" in form.format(logging.LogRecord("arena", logging.ERROR, "", 0, "failed", (), trouble))


def test_nothing_that_strangers_wrote_moves_a_cursor_or_begins_a_line() -> None:
    try:
        raise ValueError("\x1b]0;boo\x07")
    except ValueError:
        trouble = sys.exc_info()
    record = logging.LogRecord("arena", logging.INFO, "", 0, "%s", ("a\x1b[2Jb\nc\u202ed",), trouble)
    assert TextLines().format(record).startswith(r"arena: a\x1b[2Jb\nc\u202ed")
    assert not set("\x1b\x07\u202e") & set(TextLines().format(record))
    line = JsonLines().format(record)
    assert line.isprintable()
    assert json.loads(line)["message"] == r"a\x1b[2Jb\nc\u202ed"


async def test_the_log_of_a_server_may_be_an_object_a_line_from_a_level_on(tmp_path: Path) -> None:
    async with (
        serving(tmp_path, "--log", "json", "--web-port", "0", "--registration", "closed") as served,
        connect(served.url, subprotocols=[Subprotocol("arena.v1.json")]) as wire,
    ):
        await wire.send('{"type":"hello","bot":"ann"}')
        await served.says("ann is not registered")
    lines = [json.loads(line) for line in served.said]
    assert all(set(line) == {"time", "level", "event", "fields", "message"} for line in lines)
    assert [line["fields"]["bot"] for line in lines if line["event"] == "refused"][-1] == "ann"


def test_a_line_names_the_node_and_the_match_that_it_is_about() -> None:
    record = logging.LogRecord("arena.host", logging.WARNING, "", 0, "match %s is called off", ("m-1",), None)
    record.__dict__.update(log_fields(match="m-1"))
    line = json.loads(JsonLines("a").format(record))
    assert (line["node"], line["fields"], line["message"]) == ("a", {"match": "m-1"}, "match m-1 is called off")
    assert TextLines("a").format(record) == "arena a: match m-1 is called off"


async def test_a_match_that_can_not_be_stored_is_named_in_a_field(
    serve: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*words: object) -> None:
        raise StoreUnavailable("it is away")

    served = await serve()
    first, second, start = await served.begun()
    with monkeypatch.context() as patch:
        patch.setattr(served.store, "write", away)
        await first.send(type="resign", match=start["match"])
        await second.expect("error")
        await served.stop()
    [record] = [record for record in caplog.records if "stays in the journal" in record.getMessage()]
    assert record.fields == {"match": start["match"]}
    await served.start()


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--log-level=loud", "log_level is 'loud': it is one of debug, info, warning, error"),
        ("--log=xml", "log is 'xml': it is one of text, json"),
    ],
)
def test_a_log_that_there_is_none_of_is_refused(option: str, text: str) -> None:
    done = call("arena", "serve", option)
    assert (done.code, done.out) == (2, "")
    assert text in done.err
