"""The log of a server: levels, text or JSON, escaping, and a rate limit for lines that unknown clients cause."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from machine.keyed_limiter import KeyedLimiter, TokenBucket
from protocol.display import escape_unprintable, printable_json, truncate

MAX_TEXT_CHARS = 1000
"""Maximum characters of a message, of a field and of a traceback line. Longer texts are cut and marked."""
MAX_TRACEBACK_LINES = 40
"""Maximum lines of a traceback. Of a longer traceback, the last lines are kept."""
STRANGER_LINES_RATE = TokenBucket(burst=300, per_second=2.0)
"""The rate limit on log lines that strangers (unknown clients) cause."""
SUMMARY_DELAY_S = 60.0
"""Seconds after the first suppressed line until the number of suppressed lines is logged."""
LIBRARY_LOGGERS = ("asyncio", "uvicorn", "websockets")
"""The names of the loggers of the libraries that a server uses."""
STRANGER_LOGGERS = (*LIBRARY_LOGGERS, "arena.network", "arena.web.errors")
"""The names of the loggers whose lines strangers may cause, by connections and requests. If a stranger causes a line of
another logger, the line has `of_stranger` in its `extra`.
"""

log = logging.getLogger("arena.log")


def log_fields(**fields: str) -> dict[str, dict[str, str]]:
    """Return the `extra` of a log line about a match or bot."""
    return {"fields": fields}


class TextLines(logging.Formatter):
    """A formatter of log lines as text: `arena: message`, or on a node `arena NODE: message`. Only tracebacks have more
    lines.
    """

    def __init__(self, node: str | None = None) -> None:
        super().__init__()
        self._begins = "arena" if node is None else f"arena {node}"

    def format(self, record: logging.LogRecord) -> str:
        text = f"{self._begins}: {_message(record)}"
        return f"{text}\n{_traceback(record)}" if _has_traceback(record) else text


class JsonLines(logging.Formatter):
    """A formatter of log lines as JSON: `time` (UTC), `level`, `event`, `fields`, `message`, and `node` on a node."""

    def __init__(self, node: str | None = None) -> None:
        super().__init__()
        self._node = {} if node is None else {"node": node}

    def format(self, record: logging.LogRecord) -> str:
        import msgspec  # slow to import for code that only needs the names of the levels

        def bounded(field: Any) -> Any:
            text = field if isinstance(field, str) else msgspec.json.encode(field, enc_hook=str).decode()
            return field if len(text) <= MAX_TEXT_CHARS else truncate(text, MAX_TEXT_CHARS)

        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            **self._node,
            "event": getattr(record, "event", "log"),
            "fields": {name: bounded(field) for name, field in getattr(record, "fields", {}).items()},
            "message": _message(record),
        }
        if _has_traceback(record):
            line["traceback"] = _traceback(record)
        return printable_json(msgspec.json.encode(line, enc_hook=str).decode())


class SuppressedLineCounter:
    """A counter of suppressed log lines by event. It logs the counts `SUMMARY_DELAY_S` seconds after the first one."""

    def __init__(self, logger: logging.Logger) -> None:
        self._to = logger
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._telling: threading.Timer | None = None

    def add(self, event: str) -> None:
        with self._lock:
            self._counts[event] += 1
            if self._telling is None:
                self._telling = threading.Timer(SUMMARY_DELAY_S, self.report)
                self._telling.daemon = True
                self._telling.start()

    def report(self) -> None:
        """Log the counts since the last report, if any."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
            if self._telling is not None:
                self._telling.cancel()
                self._telling = None
        if counts:
            told = ", ".join(f"{count} {event}" for event, count in counts.items())
            text = f"too many events for a line each, left out here: {told}"
            self._to.info("%s", text, extra={"event": "left_out", "fields": dict(counts)})


class LineLimit(logging.Filter):
    """A log filter that limits the rate of lines caused by strangers. `now` is a clock in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._lock = threading.Lock()
        self._lines = KeyedLimiter(STRANGER_LINES_RATE)
        self.suppressed = SuppressedLineCounter(log)

    def filter(self, record: logging.LogRecord) -> bool:
        if not _is_caused_by_stranger(record):
            return True
        with self._lock:
            too_many = self._lines.take(None, self._now()) > 0
        if too_many:
            self.suppressed.add(getattr(record, "event", "log"))
        return not too_many


def configure_logging(level: str, form: str, node: str | None = None) -> None:
    """Log lines of at least this level to standard error. `form` is text or JSON, `node` the server's node, if any."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines(node) if form == "json" else TextLines(node))
    limit = LineLimit()
    handler.addFilter(limit)
    atexit.register(limit.suppressed.report)
    logging.basicConfig(level=level.upper(), handlers=[handler])
    for noisy in LIBRARY_LOGGERS:
        logging.getLogger(noisy).setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))
    logging.getLogger("websockets").setLevel(logging.CRITICAL)  # a failed handshake is the peer's fault


def _is_caused_by_stranger(record: logging.LogRecord) -> bool:
    if record.exc_info:  # a failure in the arena itself repeats each time that a client triggers it
        return True
    return getattr(record, "of_stranger", False) or _is_among(record.name, STRANGER_LOGGERS)


def _is_among(name: str, loggers: tuple[str, ...]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in loggers)


def _has_traceback(record: logging.LogRecord) -> bool:
    """Return whether a log record has a useful traceback. That of an `OSError` raised in a library is not useful."""
    if not record.exc_info:
        return False
    return not (isinstance(record.exc_info[1], OSError) and _is_among(record.name, LIBRARY_LOGGERS))


def _message(record: logging.LogRecord) -> str:
    text = record.getMessage()
    if record.exc_info and not _has_traceback(record):
        text += f": {record.exc_info[1]}"
    return truncate(escape_unprintable(text), MAX_TEXT_CHARS)


def _traceback(record: logging.LogRecord) -> str:
    assert record.exc_info
    lines = logging.Formatter().formatException(record.exc_info).split("\n")
    left_out = len(lines) - MAX_TRACEBACK_LINES
    if left_out > 0:
        lines = [f"... {left_out} more lines, then", *lines[left_out:]]
    return "\n".join(truncate(escape_unprintable(line), MAX_TEXT_CHARS) for line in lines)
