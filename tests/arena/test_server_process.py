"""A process that serves, for tests and measurements: when it is ready, what it logs and how it ends."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from subprocess import Popen, TimeoutExpired
from typing import Any

import pytest

from arena.processes.server_process import ServerProcess
from timeouts import WITHIN

LISTENS = "echo 'arena: listening on wss://[::1]:4321 (data in x)' >&2; echo 'arena: on' >&2; exec sleep 1000"


class Shell:
    """Starts a script in place of a server, and notes the words that the server would have got."""

    def __init__(self, script: str) -> None:
        self.script = script
        self.words: list[tuple[str, ...]] = []

    def __call__(self, words: Sequence[str], **streams: Any) -> Popen[bytes]:
        self.words.append(tuple(words))
        return Popen(("sh", "-c", self.script), **streams)


def test_a_server_is_ready_when_it_says_where_it_listens_and_gets_the_same_port_when_it_is_started_again() -> None:
    shell, lines = Shell(LISTENS), list[int]()
    server = ServerProcess("serve", "--no-web", start_program=shell, on_line=lambda: lines.append(len(server.log)))
    for count in (1, 2):
        server.start()
        assert server.wait_until_ready(WITHIN)
        assert (server.url, server.port) == ("wss://[::1]:4321", 4321)
        assert server.wait_for_line(": on", WITHIN, count) == "arena: on\n"
        assert server.stop(timeout_s=WITHIN) == -signal.SIGTERM
    assert shell.words == [("arena", "serve", "--port", port, "--no-web") for port in ("0", "4321")]
    assert lines == [1, 2, 3, 4]


def test_a_server_that_ends_before_it_listens_is_not_ready_and_its_log_tells_why() -> None:
    server = ServerProcess("web", start_program=Shell("echo 'arena: no data' >&2; exit 3"))
    server.start()
    assert not server.wait_until_ready(WITHIN)
    with pytest.raises(TimeoutError, match="no line with 'the page' in the log: arena: no data"):
        server.wait_for_line("the page", WITHIN)
    assert server.stop(timeout_s=WITHIN) == 3


def test_a_server_that_does_not_stop_by_itself_is_killed() -> None:
    server = ServerProcess("serve", start_program=Shell("trap '' TERM; " + LISTENS))
    server.start()
    assert server.wait_until_ready(WITHIN)
    with pytest.raises(TimeoutExpired):
        server.stop(timeout_s=0.01)
    assert server.process.returncode == -signal.SIGKILL
