"""Files that come in parts, of which not all parts have come yet."""

from __future__ import annotations

from protocol.errors import UsageFault


class Uploads:
    """Keeps the parts of uploads until each is taken as a whole. The oldest one goes for one too many."""

    def __init__(self, noun: str, max_bytes: int, max_uploads: int) -> None:
        """`noun` names what is uploaded in messages. An upload has at most `max_bytes`."""
        self._noun = noun
        self._max_bytes = max_bytes
        self._max_uploads = max_uploads
        self._parts: dict[str, bytearray] = {}

    def add(self, upload: str, data: bytes) -> None:
        """Keep a part. Raise `UsageFault`, and forget the upload, if it is then too large."""
        found = self._parts.setdefault(upload, bytearray())
        if len(found) + len(data) > self._max_bytes:
            del self._parts[upload]
            raise UsageFault(f"a {self._noun} has more than {self._max_bytes} bytes: hand in less")
        found += data
        if len(self._parts) > self._max_uploads:
            del self._parts[next(iter(self._parts))]

    def take(self, upload: str) -> bytes:
        """Return an upload, and forget it. Raise `UsageFault` if it is not here."""
        if upload not in self._parts:
            raise UsageFault(f"too many {self._noun}s were handed in at a time: hand yours in again")
        return bytes(self._parts.pop(upload))
