"""An event for a line of the log, for tests that wait until something has happened."""

from __future__ import annotations

import asyncio
import logging

import pytest


def set_when_logged(caplog: pytest.LogCaptureFixture, text: str = "") -> asyncio.Event:
    """Return an event that is set once a line of the log has this text. It is logged on the event loop."""
    logged = asyncio.Event()

    def note(record: logging.LogRecord) -> bool:
        if text in record.getMessage():
            logged.set()
        return True

    caplog.handler.addFilter(note)
    return logged
