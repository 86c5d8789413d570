"""A program that is run to its end: what it leaves behind, and how it ends early."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from machine.run_program import ProgramEnd, run_program


async def test_a_program_reads_what_it_is_given_and_leaves_its_code_and_its_outputs() -> None:
    script = "read line; echo $line; echo one >&2; echo two $NAME >&2; exit 3"
    end = await run_program("/bin/sh", "-c", script, data=b"hello\n", env={"NAME": "three"})
    assert end == ProgramEnd(3, b"hello\n", b"one\ntwo three\n")
    assert end.last_error == "two three"
    assert ProgramEnd(0, b"", b"").last_error == ""


async def test_a_program_has_ended_as_it_was_asked_to_when_who_waited_for_it_is_gone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    script = f"trap 'echo ended > {tmp_path}/end; exit' INT; read line; echo > {tmp_path}/begun; "
    script += "while :; do sleep 0.01; done"
    waiting = asyncio.create_task(run_program("/bin/sh", "-c", script, data=b"go on\n", end_signal=2))
    await asyncio.to_thread((tmp_path / "begun").read_text)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (tmp_path / "end").read_text() == "ended\n"


async def test_a_program_that_does_not_end_as_it_was_asked_to_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a backup within a long call of SQLite."""
    monkeypatch.setattr("machine.run_program.END_TIMEOUT_S", 0.01)
    os.mkfifo(tmp_path / "begun")
    script = f"trap '' INT; echo > {tmp_path}/begun; exec sleep 600"
    waiting = asyncio.create_task(run_program("/bin/sh", "-c", script, end_signal=2))
    await asyncio.to_thread((tmp_path / "begun").read_text)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
