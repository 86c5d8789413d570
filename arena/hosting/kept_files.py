"""The files that a hosted bot keeps between its matches: the names that its manifest may give them, and their tar."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Collection, Mapping, Sequence
from io import BytesIO

from protocol.display import short_repr
from protocol.errors import UsageFault
from protocol.match_logs import MAX_STATE_BYTES

MAX_KEPT_FILES = 16
"""Maximum number of files that a bot keeps."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
"""Matches the name of a file that a bot keeps."""
_BLOCK_BYTES = 512
"""The number of bytes of a header in a tar, of which contents take whole multiples."""
_ORDINARY_TYPES = (b"0", b"\0")
"""The types of ordinary files in the headers of a tar."""


def check_kept_names(names: Sequence[str]) -> None:
    """Raise `UsageFault` unless these are names of files that a bot may keep."""
    if len(names) > MAX_KEPT_FILES:
        raise UsageFault(f"keep has {len(names)} files: {MAX_KEPT_FILES} at most")
    for name in names:
        if not _NAME.fullmatch(name):
            raise UsageFault(f"keep has {short_repr(name)}: write a name without a folder, like opinions.json")


def pack_kept_files(files: Mapping[str, bytes]) -> bytes:
    """Return files as a tar. Equal files give equal tars."""
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size = len(files[name])
            archive.addfile(entry, BytesIO(files[name]))
    return packed.getvalue()


def read_kept_files(data: bytes, names: Collection[str], max_bytes: int = MAX_STATE_BYTES) -> dict[str, bytes]:
    """Return the ordinary files with these names in a tar that a stranger's program may have written. What else it has
    is left out.

    Raise `UsageFault` if it is no tar, or if the files have more than `max_bytes` together.
    """
    files: dict[str, bytes] = {}
    offset = 0
    while (header := data[offset : offset + _BLOCK_BYTES]).strip(b"\0"):
        name = header[:100].rstrip(b"\0").decode(errors="replace")
        size = _read_size(header)
        content = data[offset + _BLOCK_BYTES : offset + _BLOCK_BYTES + size]
        if len(content) < size:
            raise UsageFault("the files that the program keeps are cut off")
        if name in names and header[156:157] in _ORDINARY_TYPES:
            files[name] = content
        offset += _BLOCK_BYTES + -(-size // _BLOCK_BYTES) * _BLOCK_BYTES
    if sum(map(len, files.values())) > max_bytes:
        raise UsageFault(f"the files that the program keeps have more than {max_bytes} bytes together")
    return files


def _read_size(header: bytes) -> int:
    digits = header[124:136].strip(b" \0")
    if len(header) < _BLOCK_BYTES or not re.fullmatch(rb"[0-7]{1,11}", digits):
        raise UsageFault("the files that the program keeps are no tar")
    return int(digits, 8)
