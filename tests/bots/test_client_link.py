"""A bot's connections to two nodes, on real sockets: none outlives the bot, and none fails unseen."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from bots.client.run import Client
from bots.client.settings import Settings
from bots.client.worker_threads import Choose
from bots.reference.random_bot import RandomBot
from machine.client.client_protocol import Effect
from patience import HASTY_CLIENT
from protocol.error_codes import ELSEWHERE
from protocol.messages import Error, Hello, Ready, Seek
from timeouts import WITHIN


class Sent:
    """A bot that node a sent to node b, where its only match is played; and what either of them hears of it."""

    def __init__(self, client: Client, a: Any, b: Any) -> None:
        self.playing = asyncio.create_task(client.play())
        self.a, self.b = a, b
        self.line: Any
        self.other: Any

    async def begin(self, script: Any) -> None:
        self.line = await self.a.line()
        await self.line.expect(Hello)
        await self.line.say(replace(script.welcome(), url=self.a.url))
        await self.line.expect(Seek)
        await self.line.say(Error(code=ELSEWHERE, message="there", ref="s1", url=self.b.url))
        self.other = await self.b.line()
        await self.other.expect(Hello)
        await self.other.say(replace(script.welcome(), url=self.b.url))
        await self.other.expect(Seek)
        await self.other.say(script.start(seek="s1"))
        await self.other.expect(Ready)


class Failing(Client):
    def _perform_other(self, effect: Effect) -> None:
        if isinstance(effect, Choose):
            raise RuntimeError("a defect")


@pytest.fixture
async def a(listen: Any) -> AsyncIterator[Any]:
    async with listen() as peer:
        yield peer


@contextlib.asynccontextmanager
async def sent(kind: type[Client], a: Any, b: Any, script: Any, **settings: Any) -> AsyncIterator[Sent]:
    asked = Settings(url=a.url, game="nim", matches=1, **settings)
    client = kind(RandomBot("mine"), asked, "t" * 20, timeouts=HASTY_CLIENT)
    sent = Sent(client, a, b)
    await sent.begin(script)
    yield sent
    sent.playing.cancel()
    await asyncio.gather(sent.playing, return_exceptions=True)


async def test_a_bot_that_is_cancelled_leaves_all_nodes(a: Any, peer: Any, script: Any) -> None:
    async with sent(Client, a, peer, script) as bot:
        bot.playing.cancel()
        for line in (bot.line, bot.other):
            await asyncio.wait_for(line.connection.wait_closed(), WITHIN)
        assert [line.connection.close_code for line in (bot.line, bot.other)] == [1000, 1000]


async def test_what_fails_on_the_connection_to_another_node_ends_the_bot(a: Any, peer: Any, script: Any) -> None:
    async with sent(Failing, a, peer, script) as bot:
        await bot.other.say(script.turn())
        with pytest.raises(RuntimeError, match="a defect"):
            await asyncio.wait_for(bot.playing, WITHIN)


@pytest.mark.parametrize("first", ["does not answer", "asks to be left alone"])
async def test_a_bot_whose_matches_are_played_does_not_wait_for_a_node_that_is_away(
    a: Any, peer: Any, script: Any, first: str
) -> None:
    asked = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if first == "asks to be left alone":
            writer.write(b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 300\r\nContent-Length: 0\r\n\r\n")
        asked.set()
        await reader.read()
        writer.close()

    async with sent(Client, a, peer, script) as bot:
        port = a.server.sockets[0].getsockname()[1]
        a.server.close(close_connections=False)
        async with await asyncio.start_server(serve, "127.0.0.1", port):
            bot.line.cut()
            await asyncio.wait_for(asked.wait(), WITHIN)
            await bot.other.say(script.end())
            assert await asyncio.wait_for(bot.playing, WITHIN) == 0


async def test_patience_with_a_node_does_not_end_while_another_one_is_there(a: Any, peer: Any, script: Any) -> None:
    tried = asyncio.Semaphore(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tried.release()
        writer.close()

    async with sent(Client, a, peer, script, patience=0.05) as bot:
        port = a.server.sockets[0].getsockname()[1]
        a.server.close(close_connections=False)
        async with await asyncio.start_server(serve, "127.0.0.1", port):
            bot.line.cut()
            for _ in range(20):
                await asyncio.wait_for(tried.acquire(), WITHIN)
            await bot.other.say(script.end())
            assert await asyncio.wait_for(bot.playing, WITHIN) == 0
