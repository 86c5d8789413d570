"""A program made of commands, as a process of its own."""

from __future__ import annotations

import subprocess
import sys

from commands import REPOSITORY
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
