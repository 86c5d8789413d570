"""Values on disk, each file with its key and a checksum: what is damaged or foreign is not read."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any


def read_values(path: Path, key: str) -> tuple[Any, int] | None:
    """The 64-bit floats that `write_values` left there, and their sweeps; None where that is not what there is."""
    import numpy

    try:
        with path.open("rb") as file:
            head, body = file.readline().rstrip(b"\n"), file.read()
    except OSError:
        return None
    fields = head.split(b" ")
    if len(fields) != 3 or fields[0] != key.encode() or not fields[1].isdigit():
        return None
    if fields[2] != hashlib.sha256(body).hexdigest().encode():
        return None
    return numpy.frombuffer(body, "<f8"), int(fields[1])


def write_values(path: Path, key: str, values: Any, sweeps: int) -> None:
    """A line of key, sweeps and checksum, then the values; where the folder cannot be written, nothing."""
    body = values.astype("<f8").tobytes()
    head = f"{key} {sweeps} {hashlib.sha256(body).hexdigest()}\n".encode()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
            try:
                file.write(head)
                file.write(body)
                file.close()
                os.replace(file.name, path)
            except OSError:
                os.unlink(file.name)
                raise
