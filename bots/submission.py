"""Hands programs in, which the arena checks and runs: for `arena-bot submit`, and for `python my_bot.py --submit`."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
import time
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from bots.agents.page import PageClient, PageError
from bots.client.bot import Bot
from bots.client.settings import Settings
from bots.client.tokens import default_path, find_or_make_token, find_token, forget_token
from machine.client.connecting import connect
from machine.client.timeouts import ClientTimeouts
from machine.terminal import say
from machine.timeouts import scale_timeouts
from protocol.codec import MSGPACK
from protocol.display import escape_unprintable, format_count, short_repr
from protocol.errors import Fault, UsageFault, os_errors_as
from protocol.messages import Error, Hello, Welcome
from protocol.submissions import MAX_SUBMISSION_BYTES, is_zip

T = TypeVar("T")
POLL_INTERVAL_S = 1.0
"""Seconds between two questions how a check goes."""
CHECK_TIMEOUT_S = 3600.0
"""Seconds for which a check is followed."""
RESTART_TIMEOUT_S = 60.0
"""Seconds for which a page that does not answer is asked again, because its arena may be restarting."""
BUSY_TIMEOUT_S = 300.0
"""Seconds for which a program is handed in again while the arena is busy with others."""
OPEN_STATES = ("waiting", "checking")
"""The states of a version whose check has not ended."""
MAX_STATUS_LINES = 20
"""Maximum number of lines of a log that `--status` shows."""
NO_RUNNER_MESSAGE = "no runner is connected, so nothing is checked: ask the operator of the arena"
"""The advice about a version that waits for its check at an arena without runners."""
STARTING_RUNNERS_MESSAGE = "the arena's runners are starting; if that takes minutes, ask the operator of the arena"
"""The advice about a version that waits for its check at an arena whose own runners are not connected yet."""
PAGE_HINT = "with arena-bot submit --page"
"""The end of the advice to give the address of the page, for a program with `--submit` or `--status`."""
_STATE_WORDS = {
    "waiting": "waits for its check",
    "checking": "is being checked",
    "passed": "passed its check",
    "failed": "failed its check",
}
"""The end of a sentence about a version, by the version's state."""


class Version(Struct, frozen=True, kw_only=True):
    """The fields of a version that are shown.

    `runners` is the number of runners that are connected, and `ahead` that of the checks before this version's. They
    are None if the arena does not say. `starting` is true if no runner is connected yet, but the arena starts some.
    """

    number: int
    state: str
    active: bool = False
    submitted: str = ""
    games: tuple[str, ...] = ()
    declared_games: tuple[str, ...] = ()
    file: str | None = None
    published: bool = False
    report: str = ""
    runners: int | None = None
    ahead: int | None = None
    starting: bool = False

    def describe(self, bot: str) -> str:
        """Return a line about the version of this bot, and the lines of its report."""
        lines = [escape_unprintable(line) for line in self.report.splitlines()]
        return "\n".join(
            [f"{bot}: version {self.number} {_STATE_WORDS.get(self.state, self.state)}{self.delay}", *lines]
        )

    @property
    def delay(self) -> str:
        """The reason why the version still waits, as the end of a sentence; empty if it does not wait."""
        if self.state != "waiting":
            return ""
        if self.runners == 0:
            return f"; {STARTING_RUNNERS_MESSAGE if self.starting else NO_RUNNER_MESSAGE}"
        return f"; {format_count(self.ahead, 'check is', 'checks are')} before it" if self.ahead else ""


class ArenaLimits(Struct, frozen=True, kw_only=True):
    """The arena's limits on a program, of which this program checks the size before it sends anything."""

    packed_bytes: int = MAX_SUBMISSION_BYTES


class LastLog(Struct, frozen=True, kw_only=True):
    """The fields of a log that are shown: the match, the version that played it, and what the program wrote."""

    match: str
    version: int
    text: str = ""


class BotSubmissions:
    """The versions of one bot at an arena, by its token.

    Without a token, the saved one is used. If there is none, a new one is made, and saved when the arena is about to
    get it: a name that another owns leaves nothing behind. `hint` says how the user gives the address of the `page`.
    """

    def __init__(
        self, server: str, bot: str, token: str | None, page: str | None = None, hint: str = "with --page"
    ) -> None:
        self._server = server
        self._bot = bot
        self._given = token
        self._token = token or find_token(server, bot, default_path())
        self._where = page
        self._hint = hint
        self._page = PageClient(server, page, hint, self._token)

    def fetch(self) -> Any:
        """Return what the page tells about the versions. Raise `Fault` if it does not."""
        if self._token is None:
            raise UsageFault(f"this computer has no token of {self._bot}: give it with --token")
        return self._fetch()

    def hand_in(self, file: str, content: bytes, games: Sequence[str] = ()) -> Version:
        """Hand a program in, and return its version. A bot that the arena does not know is registered first. Raise
        `Fault` if the arena refuses it.

        The bot's token is left out of a source file, as the page for connecting bots puts it there. A zip that has it
        is refused.
        """
        limits = self._prepare()
        if self._token is not None and is_zip(file):
            _refuse_token(content, self._token)
        elif self._token is not None:
            content = content.replace(self._token.encode(), b"")
        if len(content) > limits.packed_bytes:
            raise UsageFault(f"{file} has {len(content)} bytes to hand in: {limits.packed_bytes} at most")
        return convert(self._post(file, content, games), Version)

    def follow(self, version: Version) -> Version:
        """Return a version once its check has ended. Raise `Fault` after `CHECK_TIMEOUT_S`."""
        until = time.monotonic() + CHECK_TIMEOUT_S
        while time.monotonic() < until:
            told = fetch_despite_restart(self._page, "bots", self._bot, "submissions", str(version.number))
            version = convert(told, Version)
            if version.state not in OPEN_STATES:
                return version
            time.sleep(POLL_INTERVAL_S)
        raise Fault(f"{self._bot}: version {version.number} is not checked after {CHECK_TIMEOUT_S:g} s{version.delay}")

    def fetch_last_log(self) -> LastLog | None:
        """Return the newest log of a match; None if there is none."""
        listed = convert(self._page.fetch("bots", self._bot, "logs"), dict[str, list[LastLog]])
        newest = next(iter(listed.get("logs", ())), None)
        return newest and convert(self._page.fetch("bots", self._bot, "logs", newest.match), LastLog)

    def _post(self, file: str, content: bytes, games: Sequence[str]) -> Any:
        """Return the page's answer to a program. While the page is busy, wait as long as it says, and try again."""
        until = time.monotonic() + BUSY_TIMEOUT_S
        is_told = False
        while True:
            try:
                return self._page.post(content, "bots", self._bot, "submissions", file=file, game=list(games))
            except PageError as fault:
                if fault.retry_after_s is None or time.monotonic() + fault.retry_after_s > until:
                    raise
                if not is_told:
                    say(f"{self._bot}: the arena is receiving other programs; yours follows", flush=True)
                    is_told = True
                time.sleep(fault.retry_after_s * random.uniform(0.5, 1.0))

    def _prepare(self) -> ArenaLimits:
        """Return the arena's limits, after the bot was registered if it was unknown."""
        try:
            return self._limits()
        except PageError as fault:
            if fault.status == HTTPStatus.UNAUTHORIZED and self._token is None:
                raise Fault(
                    f"the name {self._bot} is taken, and this computer has no token of it: choose another with --name, "
                    "or give its token with --token"
                ) from fault
            if fault.status != HTTPStatus.NOT_FOUND or "no bot called" not in str(fault):
                raise
        token = self._given or find_or_make_token(self._server, self._bot, default_path())
        try:
            asyncio.run(_register(self._server, self._bot, token))
        except _Refused:
            if self._token is None:
                forget_token(self._server, self._bot, default_path())
            raise
        self._token = token
        self._page = PageClient(self._server, self._where, self._hint, token)
        return self._limits()

    def _limits(self) -> ArenaLimits:
        """Return the arena's limits. A page that refuses a request with a large body may end it before its answer is
        read, so this comes first.
        """
        return convert(self._fetch().get("limits", {}), ArenaLimits)

    def _fetch(self) -> dict[str, Any]:
        with explaining_absence():
            return convert(self._page.fetch("bots", self._bot, "submissions"), dict[str, Any])


def _refuse_token(content: bytes, token: str) -> None:
    """Raise `UsageFault` if a file in a zip has the bot's token. The arena says what else is wrong with the zip."""
    unsound = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError)
    with contextlib.suppress(*unsound), zipfile.ZipFile(BytesIO(content)) as archive:
        for entry in archive.infolist():
            if token.encode() in archive.read(entry):
                raise UsageFault(
                    f"{short_repr(entry.filename)} has the bot's token, which is not for others: take it out, or leave "
                    "out the file"
                )


class _Refused(Fault):
    """Raised if an arena does not let a bot in."""


def submit_program(bot: Bot, settings: Settings) -> None:
    """Hand in the program that runs, for `run` with `--submit`, and say how its check goes.

    Raise `Fault` if it can't be handed in, `SystemExit` (1) if it fails its check.
    """
    file = getattr(sys.modules["__main__"], "__file__", None)
    if file is None:
        raise UsageFault("--submit hands a file in: save the program, and run python FILE.py --submit")
    games = [settings.game] if settings.game is not None else list(bot.games)
    if not games:
        raise UsageFault("which game does it play? Name it with --game")
    with os_errors_as(UsageFault, f"{file} can't be read"):
        content = Path(file).read_bytes()
    hand_in_and_follow(
        BotSubmissions(settings.url, bot.name, settings.token, hint=PAGE_HINT),
        bot.name,
        Path(file).name,
        content,
        games,
    )


def show_status(bot: Bot, settings: Settings) -> None:
    """Say how the check of the newest version went, which version plays, and what it wrote last, for `run` with
    `--status`.
    """
    submissions = BotSubmissions(settings.url, bot.name, settings.token, hint=PAGE_HINT)
    versions = convert(submissions.fetch().get("versions"), list[Version])
    if not versions:
        raise Fault(f"{bot.name}: nothing was handed in yet: python FILE.py --submit does it")
    say(versions[0].describe(bot.name))
    active = next((version for version in versions if version.active), None)
    say(f"{bot.name}: no version plays" if active is None else f"{bot.name}: version {active.number} plays")
    log = submissions.fetch_last_log()
    if log is not None:
        say(f"{bot.name}: the end of its log of match {log.match}, where version {log.version} played:")
        say("\n".join(escape_unprintable(line) for line in log.text.splitlines()[-MAX_STATUS_LINES:]))


def hand_in_and_follow(
    submissions: BotSubmissions, bot: str, file: str, content: bytes, games: Sequence[str], *, wait: bool = True
) -> None:
    """Hand a program in, and say how its check went, if this is to `wait`. Raise `SystemExit` (1) if it failed."""
    version = submissions.hand_in(file, content, games)
    how = "has passed its check already" if version.state == "passed" else f"is {version.state}"
    say(f"{bot}: version {version.number} was handed in; it {how}{version.delay}", flush=True)
    if wait:
        version = submissions.follow(version)
        say(version.describe(bot))
        if version.state != "passed":
            raise SystemExit(1)


async def _register(server: str, bot: str, token: str) -> None:
    """Log in once, which registers a new bot. Raise `_Refused` if the arena does not let it in."""
    connection = await connect(server, scale_timeouts(ClientTimeouts()))
    async with connection:
        await connection.send(MSGPACK.encode(Hello(bot=bot, token=token, client="arena-bot submit")))
        async for frame in connection:
            message = MSGPACK.decode_server(frame)
            if isinstance(message, Welcome):
                return
            if isinstance(message, Error):
                raise _Refused(f"{bot}: {escape_unprintable(message.message)}")
    raise Fault(f"{bot}: the arena ended the connection before it answered")


def fetch_despite_restart(client: PageClient, *path: str) -> Any:
    """Return the page's answer as `PageClient.fetch` does. A page that does not answer is asked again for a while."""
    until = time.monotonic() + RESTART_TIMEOUT_S
    while True:
        try:
            return client.fetch(*path)
        except PageError as fault:
            if fault.status not in (0, HTTPStatus.SERVICE_UNAVAILABLE) or time.monotonic() >= until:
                raise
        time.sleep(POLL_INTERVAL_S)


@contextmanager
def explaining_absence() -> Iterator[None]:
    """Say that an arena hosts no bots, instead of that it has no page for it."""
    try:
        yield
    except PageError as fault:
        if fault.status == HTTPStatus.NOT_FOUND and "there is nothing at" in str(fault):
            raise Fault(
                "this arena runs no programs of others: ask its operator, or connect the bot yourself"
            ) from fault
        raise


def convert(answer: Any, kind: type[T]) -> T:
    """Return what the page tells as this type. Raise `PageError` if the answer has another form."""
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as exc:
        raise PageError(f"the arena answers like another version: {exc}") from exc
