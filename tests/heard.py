"""Output that a test waits for."""

from __future__ import annotations

import io
import threading


class Heard(io.StringIO):
    """Text that can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.line = threading.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if "\n" in text:
            self.line.set()
        return written
