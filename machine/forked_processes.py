"""Processes that a fork server forks (machine/fork_server.py): they start quickly, and share what it has imported."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping, Sequence

from machine.event_loop import wait_within
from machine.fork_requests import ForkRequest, exit_code_of, kill_by_pidfd, receive_answer, send_fork_request

END_TIMEOUT_S = 2.0
"""Seconds in which a fork server must end when its processes have ended."""


class ForkedProcess:
    """A process of a fork server. If that server ends, the process is killed."""

    def __init__(self, line: socket.socket) -> None:
        line.setblocking(False)
        self._line = line
        self._pidfd: int | None = None
        self._is_unwanted = False
        self._loop = asyncio.get_running_loop()
        self._forked: asyncio.Future[bool] = self._loop.create_future()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._loop.add_reader(line, self._hear)

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while the process runs."""
        return self._ended.result() if self._ended.done() else None

    async def wait_until_forked(self) -> None:
        """Wait until the process runs. If this is cancelled, the process is killed. Raise `OSError` if the server ends
        before.
        """
        try:
            is_forked = await asyncio.shield(self._forked)
        except asyncio.CancelledError:
            self._is_unwanted = True
            self.kill()
            raise
        if not is_forked:
            raise ChildProcessError("the fork server has ended")

    async def wait(self) -> int:
        """Wait until the process has ended, and return its exit code."""
        return await asyncio.shield(self._ended)

    def kill(self) -> None:
        """Kill the process, unless it has ended."""
        if self._pidfd is not None:
            kill_by_pidfd(self._pidfd)

    def _hear(self) -> None:
        answer, pidfd = receive_answer(self._line)
        if pidfd is not None:
            self._pidfd = pidfd
            self._forked.set_result(True)
            if self._is_unwanted:
                self.kill()
            return
        self._loop.remove_reader(self._line)
        self._line.close()
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None
        self._ended.set_result(exit_code_of(answer))
        if not self._forked.done():
            self._forked.set_result(False)


class ForkServer:
    """A fork server that has imported `modules`, with an environment. It is started when it is first needed, and again
    after it has ended.
    """

    def __init__(self, modules: Sequence[str], environment: Mapping[str, str]) -> None:
        self._modules = modules
        self._environment = environment
        self._process: Process | None = None
        self._control: socket.socket | None = None
        self._starting = asyncio.Lock()

    @property
    def process_id(self) -> int | None:
        """The id of the server's process; None if none was started."""
        return None if self._process is None else self._process.pid

    async def fork(self, function: str, environment: Mapping[str, str], files: Sequence[int]) -> ForkedProcess:
        """Fork a process that leads a session, and calls the function `MODULE:NAME`. `files` are the descriptors of its
        standard input, output and error. Variables that Python reads at its start must be as in the server.

        Raise `OSError` if the server can't be started, or ends meanwhile twice.
        """
        try:
            return await self._fork(function, environment, files)
        except OSError:
            return await self._fork(function, environment, files)

    async def _fork(self, function: str, environment: Mapping[str, str], files: Sequence[int]) -> ForkedProcess:
        async with self._starting:
            control = await self._start()
        try:
            line = send_fork_request(control, ForkRequest(function, dict(environment)), files)
            process = ForkedProcess(line)
            await process.wait_until_forked()
        except OSError:
            if control is self._control:
                self._close_control()
            raise
        return process

    async def start(self) -> None:
        """Start the server, unless it runs, so that it has imported its modules when it is first needed. Raise
        `OSError` if it can't be started.
        """
        async with self._starting:
            await self._start()

    async def _start(self) -> socket.socket:
        if self._control is not None and self._process is not None and self._process.returncode is None:
            return self._control
        self._close_control()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            command = (sys.executable, "-P", "-m", "machine.fork_server", str(theirs.fileno()), *self._modules)
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *command,
                    env=dict(self._environment),
                    stdin=DEVNULL,
                    stdout=DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                raise
        self._control = ours
        return ours

    async def close(self) -> None:
        """End the server, and wait for that. Its processes should have ended."""
        self._close_control()
        if self._process is not None and self._process.returncode is None:
            await wait_within(self._process.wait(), END_TIMEOUT_S)
            if self._process.returncode is None:
                self._process.kill()
                await self._process.wait()

    def _close_control(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
