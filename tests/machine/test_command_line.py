"""A program made of commands, as a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
import typer

from commands import REPOSITORY
from machine import command_line
from machine.command_line import run_command
from protocol.errors import UsageFault
from timeouts import WITHIN

FREED = """
import os, signal, threading, weakref
import typer
from machine import command_line

app = typer.Typer()

class Thing:
    pass

@app.command()
def wait() -> None:
    thing = Thing()
    kept = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGINT))
    del thing
    print("freed", flush=True)
    threading.Event().wait()

command_line.run(app, "freeing", [])
"""


def test_an_interrupt_ends_a_program_that_was_freeing_an_object() -> None:
    command = [sys.executable, "-c", FREED]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=WITHIN)
    assert (done.returncode, done.stdout, done.stderr) == (130, "freed\n", "")


def test_only_the_command_that_is_named_is_made_and_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    made, greeted = [], []
    app, group = typer.Typer(add_completion=False), typer.Typer(name="group")
    app.callback()(lambda: None)
    app.command()(lambda: greeted.append("first"))
    app.command("greet")(lambda: greeted.append("hello"))
    group.command("greet")(lambda: greeted.append("group"))
    group.command("other")(lambda: None)
    app.add_typer(group)
    monkeypatch.setattr(command_line, "get_command", lambda app: made.append(app) or typer.main.get_command(app))
    for words in (["greet"], ["group", "greet"], ["greet"]):
        run_command(app, words)
    assert greeted == ["hello", "group", "hello"]
    assert [len(one.registered_commands) + len(one.registered_groups) for one in made] == [1, 1]
    with pytest.raises(UsageFault, match=r"no such command 'gret'.*greet"):
        run_command(app, ["gret"])


def test_an_option_takes_no_other_option_for_the_name_of_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    app = typer.Typer()
    inner = typer.Typer()
    app.add_typer(inner, name="inner")

    @inner.command()
    def first(
        to: Annotated[Path | None, typer.Option("--json", metavar="FILE")] = None,
        more: Annotated[list[str] | None, typer.Option(metavar="URL|FOLDER")] = None,
        text: Annotated[str, typer.Option()] = "",
        fast: bool = False,
    ) -> None:
        print(to, more, text)

    @inner.command()
    def second() -> None:
        pass

    for words, why in (
        (["--json", "--fast"], "--json needs a FILE, but the next word is --fast"),
        (["--more", "a", "--more", "--fast"], "--more needs a URL|FOLDER, but the next word is --fast"),
    ):
        with pytest.raises(UsageFault) as refused:
            run_command(app, ["inner", "first", *words])
        assert str(refused.value) == why
    run_command(app, ["inner", "first", "--json", "-", "--more", "./--x", "--text", "--fast"])
    assert capsys.readouterr().out == "- ['./--x'] --fast\n"


def test_a_word_that_is_not_utf8_is_named_where_text_is_needed() -> None:
    app = typer.Typer()

    @app.command()
    def encode(word: str, other: str = "") -> None:
        word.encode()
        other.encode()

    run_command(app, ["né"])
    for words in (["a\udcff\x1b"], ["a", "--other", "a\udcff\x1b"]):
        with pytest.raises(UsageFault, match=r"^'a\\udcff\\x1b' is not UTF-8: "):
            run_command(app, words)
