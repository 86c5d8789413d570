"""TLS, over the client library that a bot's author has."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import re
import shutil
import signal
import ssl
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidMessage, InvalidStatus

from arena.commands.certificate import set_up_encryption
from arena.commands.settings import ServerSettings
from arena.network import tls
from arena.network.admission import Access
from arena.network.connection_limits import ConnectionBounds
from arena.network.tls import CertificateFault, Encryption
from certificates import Pair, make
from commands import call
from in_process import call_beside, hosting
from machine.input_file import read_bytes
from machine.service_manager import ServiceManager
from machine.units import DAY_S
from patience import patient_host
from processes import run, serving
from timeouts import WITHIN, rest_of
from virtual_time import advance


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return make(tmp_path, "localhost")


def encrypted(served: Any, certificate: Path) -> connect:
    """A connection over wss://, which trusts one certificate only."""
    return connect(f"wss://localhost:{served.port}", ssl=ssl.create_default_context(cafile=certificate))


async def answered(served: Any, certificate: Path) -> bytes:
    """What a hello over such a connection is answered with."""
    async with encrypted(served, certificate) as wire:
        await wire.send(b"\x81\xa4type\xa5hello")
        answer = await wire.recv()
    assert isinstance(answer, bytes)
    return answer


async def test_a_connection_is_encrypted_and_counted(serve: Any, pair: Pair) -> None:
    served = await serve(encryption=Encryption(*pair), access=Access(bounds=ConnectionBounds(per_address=2)))
    async with encrypted(served, pair.certificate), encrypted(served, pair.certificate):
        with pytest.raises(InvalidStatus, match="HTTP 503"):
            await answered(served, pair.certificate)
    for _ in range(5):  # those that left are not counted any more
        assert b"welcome" in await answered(served, pair.certificate)


async def test_a_request_that_comes_in_one_piece_with_the_end_of_the_handshake_is_answered(
    serve: Any, pair: Pair
) -> None:
    served = await serve(encryption=Encryption(*pair))
    here, there = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context(cafile=pair.certificate).wrap_bio(here, there, server_hostname="localhost")
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)

    async def read_on() -> None:
        data = await reader.read(2**16)
        assert data, "the connection ended"
        here.write(data)

    async with asyncio.timeout(WITHIN):
        while True:
            with contextlib.suppress(ssl.SSLWantReadError):
                client.do_handshake()
                break
            writer.write(there.read())
            await read_on()
        client.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        writer.write(there.read())
        answer = b""
        while b"\r\n" not in answer:
            await read_on()
            with contextlib.suppress(ssl.SSLWantReadError):
                answer += client.read()
    assert answer.startswith(b"HTTP/1.1 426 ")
    writer.close()


@pytest.mark.virtual_time
async def test_who_does_not_shake_hands_is_cut_off_and_keeps_nobody_out(serve: Any, pair: Pair) -> None:
    bounds = ConnectionBounds(waiting=1, waiting_per_address=1)
    timeouts = patient_host(tls_handshake_timeout_s=10.0)
    served = await serve(encryption=Encryption(*pair), access=Access(bounds=bounds), timeouts=timeouts)
    for said in (b"", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x16\x03\x01"):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(said)
        answer = asyncio.create_task(rest_of(reader))
        await advance(10.0)
        assert b"HTTP" not in await answer
        writer.close()
    assert b"welcome" in await answered(served, pair.certificate)


@pytest.mark.parametrize("tls", [True, False])
async def test_the_wrong_scheme_is_cut_off_at_once_and_told_the_operator_once(
    tls: bool, serve: Any, pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    served = await serve(encryption=Encryption(*pair) if tls else None)
    context = None if tls else ssl.create_default_context(cafile=pair.certificate)
    for _ in range(3):
        async with asyncio.timeout(WITHIN / 4):  # a request may take longer
            with pytest.raises((OSError, InvalidMessage)):
                await connect(f"{'ws' if tls else 'wss'}://localhost:{served.port}", ssl=context, open_timeout=None)
    said = "does not use TLS, but this port does" if tls else "uses TLS, but this port does not"
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [f"127.0.0.1 {said}"]


async def test_a_stop_does_not_wait_for_a_handshake(serve: Any, pair: Pair) -> None:
    served = await serve(encryption=Encryption(*pair))
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    await answered(served, pair.certificate)
    async with asyncio.timeout(WITHIN):
        await served.restart()
    assert await rest_of(reader) == b""
    writer.close()


async def test_the_files_are_read_again_on_sighup_and_a_bad_one_changes_nothing(tmp_path: Path, pair: Pair) -> None:
    newer = make(tmp_path, "newer")
    options = ("--tls-cert", str(pair.certificate), "--tls-key", str(pair.key))

    async with serving(tmp_path, *options) as served:
        assert served.url.startswith("wss://")
        first = await shown(served)
        shutil.copy(newer.certificate, pair.certificate)
        served.process.send_signal(signal.SIGHUP)
        await served.says("the current certificate stays in use: ")
        assert await shown(served) == first
        shutil.copy(newer.key, pair.key)
        served.process.send_signal(signal.SIGHUP)
        await served.says("the certificate was reloaded")
        assert await shown(served) == ssl.PEM_cert_to_DER_cert(newer.certificate.read_text())


async def test_that_a_certificate_ends_soon_is_said_at_the_start_and_in_the_status(tmp_path: Path, pair: Pair) -> None:
    options = ("--tls-cert", str(pair.certificate), "--tls-key", str(pair.key))
    async with hosting(tmp_path, *options) as served:
        assert re.search(r"the certificate expires at .* UTC, in (1\.0|0\.9) days: renew ", await served.says("renew"))
        assert "the certificate expires at " in (await call_beside("arena", "status", "--data", str(tmp_path))).out


async def test_the_end_of_a_certificate_is_said_again_every_day(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    said: asyncio.Queue[str] = asyncio.Queue()
    monkeypatch.setattr("arena.commands.certificate.CHECK_INTERVAL_S", 0.001)
    monkeypatch.setattr("arena.commands.certificate.log.warning", lambda form, *words: said.put_nowait(form % words))
    set_up_encryption(ServerSettings(tls_cert=str(pair.certificate), tls_key=str(pair.key)), [], ServiceManager({}))
    for _ in range(3):
        assert "the certificate expires at " in await asyncio.wait_for(said.get(), WITHIN)


def test_the_end_of_a_certificate_is_said_from_two_weeks_before_it(pair: Pair) -> None:
    encryption = Encryption(*pair)
    ends = time.time() + DAY_S
    assert encryption.expiry_warning(ends - 14.1 * DAY_S) is None
    assert re.fullmatch(
        r"the certificate expires at .* UTC, in 13\.9 days", encryption.expiry_warning(ends - 13.9 * DAY_S) or ""
    )
    assert (encryption.expiry_warning(ends + 60) or "").startswith("the certificate expired at ")


async def test_sighup_without_a_certificate_is_said_and_play_goes_on(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        served.process.send_signal(signal.SIGHUP)
        await served.says("SIGHUP: there is no certificate to reload")
    assert served.process.returncode == 0


async def shown(served: Any) -> bytes:
    port = int(served.url.rpartition(":")[2])
    pem = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))
    return ssl.PEM_cert_to_DER_cert(pem)


async def test_a_bot_trusts_a_private_authority_by_its_environment(tmp_path: Path, pair: Pair) -> None:
    async with hosting(tmp_path, "--tls-cert", str(pair.certificate), "--tls-key", str(pair.key)) as served:
        url = served.url.replace("127.0.0.1", "localhost")
        command = ("arena-bot", "run", "random", "--url", url, "--game", "nim", "--matches", "1", "--patience", "0")
        code, _, err = await run(*command, folder=tmp_path)
        assert (code, "self-signed certificate" in err) == (1, True), err
        trusting = {"SSL_CERT_FILE": str(pair.certificate)}
        bots = [run(*command[:3], "--name", name, *command[3:-2], folder=tmp_path, **trusting) for name in "ab"]
        assert [code for code, _, _ in await asyncio.gather(*bots)] == [0, 0]


def test_a_certificate_that_has_expired_is_noticed(tmp_path: Path, pair: Pair) -> None:
    assert Encryption(*pair).validity_problem() is None
    assert Encryption(*make(tmp_path, "old", expired=True)).validity_problem() == "certificate has expired"


def test_what_can_not_be_used_is_one_clear_line(tmp_path: Path, pair: Pair) -> None:
    other = make(tmp_path, "other")
    locked = tmp_path / "locked.key"
    lock = ("openssl", "pkcs8", "-topk8", "-in", pair.key, "-out", locked, "-passout", "pass:secret")
    subprocess.run(lock, check=True)
    nothing, folder = tmp_path / "nothing.pem", tmp_path
    for certificate, key, says in (
        (nothing, pair.key, f"{nothing} can't be read: No such file or directory"),
        (pair.certificate, folder, f"{folder} can't be read: Is a directory"),
        (pair.key, pair.key, f"{pair.key} holds no certificate in PEM"),
        (pair.certificate, pair.certificate, f"{pair.certificate} holds no private key in PEM"),
        (pair.certificate, other.key, "can't be used together: is it the key of that certificate?"),
        (pair.certificate, locked, f"{locked} is encrypted: encrypted keys are not supported"),
    ):
        with pytest.raises(CertificateFault, match=re.escape(says)):
            Encryption(certificate, key)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize("in_memory", [True, False])
def test_files_are_read_as_editors_save_them(
    pair: Pair, encoding: str, in_memory: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not in_memory:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    for file in pair:
        text = f"{mark}Chloé's, of the arena\n{file.read_text()}".replace("\n", "\r\n")
        file.write_bytes(text.encode(encoding))
    encryption = Encryption(*pair)
    assert encryption.validity_problem() is None
    encryption.reload()


def test_a_pipe_without_an_end_is_no_certificate(pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls, "read_bytes", functools.partial(read_bytes, timeout_s=0.0))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(CertificateFault, match="pipe can't be read: it is a pipe or device without an end"):
        Encryption(pipe, pair.key)


def test_a_server_does_not_start_with_half_of_it(tmp_path: Path, pair: Pair) -> None:
    done = call(
        "arena", "serve", "--data", str(tmp_path), "--no-web", "--port", "0", "--tls-cert", str(pair.certificate)
    )
    assert (done.code, done.err) == (2, "arena: tls_cert and tls_key belong together: one of them is missing\n")
