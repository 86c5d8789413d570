"""The nodes of deploy/compose as processes of their own on this machine, behind nginx as it is set up there."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from certificates import make
from commands import REPOSITORY, user_environ
from conftest import free_port
from machine.run_program import ProgramEnd, run_program
from nginx import nginx, replaced
from postgres import new_database
from processes import Served, run, serving

COMPOSE = REPOSITORY / "deploy" / "compose"


@dataclass
class ComposeStack:
    """Nodes a and b on one database, and the proxy before them: where it is, and the certificate to trust it by."""

    folder: Path
    port: int
    certificate: Path
    db: str
    ports: dict[str, tuple[int, int]]

    @property
    def trusting(self) -> dict[str, str]:
        """The environment in which a program trusts the proxy."""
        return {"SSL_CERT_FILE": str(self.certificate)}

    def url(self, path: str, scheme: str = "wss") -> str:
        """The address of something behind the proxy."""
        return f"{scheme}://localhost:{self.port}/{path}"

    @asynccontextmanager
    async def node(self, name: str) -> AsyncIterator[Served]:
        """Run a node, as it is run there; at the end it is stopped."""
        port, page = self.ports[name]
        words = ("--db", self.db, "--node", name, "--public-url", self.url(name), "--socket-url", self.url("socket"))
        where = ("--port", str(port), "--web-port", str(page), "--trusted-proxy", "127.0.0.1")
        async with serving(self.folder / name, *words, *where, "--max-matches-per-hour", "0") as served:
            yield served

    def bot(self, name: str, game: str, *options: str) -> asyncio.Task[ProgramEnd]:
        """A bot that plays a game over and over, until it is cancelled: it is told to stop then."""
        command = (sys.executable, "-m", "bots", "run", "random", "--name", name, "--game", game, *options)
        environ = user_environ(XDG_CONFIG_HOME=str(self.folder / name), **self.trusting)
        url = self.url("socket")
        return asyncio.create_task(run_program(*command, "--url", url, end_signal=signal.SIGTERM, env=environ))

    async def drained(self, name: str) -> None:
        """Have a node end its matches, as what stops a container does before."""
        code, _, err = await run("arena", "node", "drain", name, "--wait", "--db", self.db, folder=self.folder)
        assert code == 0, err


@asynccontextmanager
async def compose_stack(folder: Path) -> AsyncIterator[ComposeStack]:
    """The proxy, with nodes to be started."""
    pair = make(folder, "localhost")
    ports = {name: (free_port(), free_port()) for name in ("a", "b")}
    stack = ComposeStack(folder, free_port(), pair.certificate, new_database(), ports)
    changes = {
        r"stderr warn": "stderr notice",
        r"/tmp/": f"{folder}/",
        r"listen 8080": f"listen 127.0.0.1:{free_port()}",
        r"listen 8443": f"listen 127.0.0.1:{stack.port}",
        r"/run/secrets/fullchain.pem": str(pair.certificate),
        r"/run/secrets/privkey.pem": str(pair.key),
    }
    for name, (port, page) in ports.items():
        changes |= {rf"node-{name}:8765": f"127.0.0.1:{port}", rf"node-{name}:8080": f"127.0.0.1:{page}"}
    async with nginx(folder, replaced((COMPOSE / "nginx.conf").read_text(), changes)):
        yield stack
