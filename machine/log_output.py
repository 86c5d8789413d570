"""How the log of a server is written: from which level on, as text or as JSON lines, and always fit for a terminal."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from protocol.display import printable, printable_json


class TextLines(logging.Formatter):
    """`arena: message`; only a traceback has more than one line."""

    def format(self, record: logging.LogRecord) -> str:
        text = f"arena: {printable(record.getMessage())}"
        return f"{text}\n{_traceback(record)}" if record.exc_info else text


class JsonLines(logging.Formatter):
    """One object a line: `time` (UTC, ISO 8601), `level`, `event`, `fields` and `message`."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", "log"),
            "fields": getattr(record, "fields", {}),
            "message": printable(record.getMessage()),
        }
        if record.exc_info:
            line["traceback"] = _traceback(record)
        import msgspec  # slow to load for what needs the names of levels alone

        return printable_json(msgspec.json.encode(line, enc_hook=str).decode())


def _traceback(record: logging.LogRecord) -> str:
    assert record.exc_info
    return printable(logging.Formatter().formatException(record.exc_info), lines=True)


def write_log(level: str, form: str) -> None:
    """Have everything from a level on written to standard error, in this form."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(level=level.upper(), handlers=[handler])
    for noisy in ("asyncio", "aiomqtt", "mqtt", "uvicorn"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))
    logging.getLogger("websockets").setLevel(logging.CRITICAL)  # a failed handshake is the peer's affair
