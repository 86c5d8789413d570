"""Reads what the author of a hosted bot hands in: one source file, or a zip with `bot.toml`.

What is read is a stranger's, so nothing that it says about itself is believed: sizes are counted while it is unpacked.
"""

from __future__ import annotations

import hashlib
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from io import BytesIO
from pathlib import PurePosixPath

from msgspec import Struct

from arena.hosting.limits import KIB, SubmissionLimits
from arena.hosting.manifest import MANIFEST_FILE, Manifest, manifest_of_file, read_manifest
from protocol.display import short_repr
from protocol.errors import UsageFault
from protocol.submissions import is_clutter

MAX_PATH_BYTES = 200
"""Maximum length of a path in a submission."""
UNPACK_CHUNK_BYTES = 64 * KIB
"""The number of bytes that are unpacked at a time."""
_ENCRYPTED_FLAG = 0x1
"""The bit among the flags of a file in a zip that says that the file is encrypted."""
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The ways of packing that every program for zips has. Others may need much memory to unpack."""
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
"""The date of all files in a zip of this module, so that equal files give equal zips."""


class Submission(Struct, frozen=True, kw_only=True):
    """A program that was handed in: the content of each file by its path, and the manifest."""

    files: Mapping[str, bytes]
    manifest: Manifest

    @property
    def digest(self) -> str:
        """The SHA-256 of all paths and contents, in hex. Equal submissions are one version of a bot."""
        found = hashlib.sha256()
        for path in sorted(self.files):
            for part in (path.encode(), self.files[path]):
                found.update(len(part).to_bytes(8) + part)
        return found.hexdigest()

    def pack(self) -> bytes:
        """Return the files as a zip, which `read_packed` reads. Equal files give equal zips."""
        packed = BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(self.files):
                archive.writestr(zipfile.ZipInfo(path, _FIRST_DATE), self.files[path], zipfile.ZIP_DEFLATED)
        return packed.getvalue()


def read_submission(data: bytes, games: Collection[str], limits: SubmissionLimits) -> Submission:
    """Return the submission in an author's zip, without what systems add to folders and zips. `games` are those that
    the arena has. Raise `UsageFault` if it is wrong.
    """
    limits.check_packed(len(data))
    unpacked = unpack(data, limits)
    files = {path: unpacked[path] for path in unpacked if not any(map(is_clutter, path.split("/")))}
    return _checked(_without_outer_folder(files), games)


def read_packed(data: bytes, games: Collection[str], limits: SubmissionLimits) -> Submission:
    """Return the submission that `Submission.pack` packed. Raise `UsageFault` if it is wrong."""
    limits.check_packed(len(data))
    files = unpack(data, limits)
    return Submission(files=files, manifest=read_manifest(files, games))


def read_source_file(
    name: str, data: bytes, of_games: Sequence[str], games: Collection[str], limits: SubmissionLimits
) -> Submission:
    """Return the submission that is one source file for the games `of_games`. `games` are those that the arena has.

    Raise `UsageFault` if it is wrong.
    """
    limits.check_packed(len(data))
    if "/" in name:
        raise UsageFault(f"the name of the file is {short_repr(name)}: leave out its folder")
    _check_path(name)
    files = {name: data, MANIFEST_FILE: manifest_of_file(name, of_games)}
    return _checked(files, games)


def _checked(files: Mapping[str, bytes], games: Collection[str]) -> Submission:
    """Return the submission that has these files. Raise `UsageFault` if its manifest is wrong, or if a script of it has
    line ends that no shell can read.
    """
    manifest = read_manifest(files, games)
    for command in filter(None, (manifest.build, manifest.command)):
        script = command[1] if command[0] == "sh" and len(command) > 1 else command[0]
        content = files.get(script.removeprefix("./"), b"")
        if (command[0] == "sh" or content.startswith(b"#!")) and content.partition(b"\n")[0].endswith(b"\r"):
            raise UsageFault(
                f"{short_repr(script)} has the line ends of Windows (CRLF) and can't run so: save it with those of "
                "Unix (LF)"
            )
    return Submission(files=files, manifest=manifest)


def digest_of_source(submission: Submission, file: str) -> str:
    """Return the SHA-256, in hex, of a submission that is one source file: of its content, language and games.

    The name of the file is left out, except in Java, where it names the class: a renamed copy is no new version.
    """
    name = file if submission.manifest.language == "java" else ""
    found = hashlib.sha256()
    for part in (submission.manifest.language, name, *sorted(submission.manifest.games)):
        found.update(part.encode() + b"\0")
    found.update(submission.files[file])
    return found.hexdigest()


def unpack(data: bytes, limits: SubmissionLimits) -> dict[str, bytes]:
    """Return the files in a zip. Raise `UsageFault` if it has something that no submission may have."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            entries = archive.infolist()
            if len(entries) > limits.files:
                raise UsageFault(f"the zip has {len(entries)} files: {limits.files} at most")
            files: dict[str, bytes] = {}
            room = limits.unpacked_bytes
            for entry in entries:
                if _is_folder(entry):
                    continue
                _check_entry(entry)
                content = _read_entry(archive, entry, room, limits)
                room -= len(content)
                files[entry.filename] = content
            _check_names([entry.filename for entry in entries if not _is_folder(entry)])
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError, RuntimeError) as exc:
        raise UsageFault(f"this is not a sound zip: {exc}") from exc
    return _without_outer_folder(files)


def _is_folder(entry: zipfile.ZipInfo) -> bool:
    return entry.filename.endswith("/") and entry.file_size == 0


def _check_entry(entry: zipfile.ZipInfo) -> None:
    """Raise `UsageFault` for a file in a zip that is a link or a device, has a bad path, or cannot be unpacked."""
    _check_path(entry.filename)
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        what = "a link" if kind == stat.S_IFLNK else "no ordinary file"
        raise UsageFault(f"{short_repr(entry.filename)} in the zip is {what}: hand in ordinary files alone")
    if entry.flag_bits & _ENCRYPTED_FLAG:
        raise UsageFault(f"{short_repr(entry.filename)} in the zip is encrypted: hand it in without a password")
    if entry.compress_type not in _PACKINGS:
        raise UsageFault(f"{short_repr(entry.filename)} in the zip is packed in a rare way: pack it as zip -r does")


def _check_path(path: str) -> None:
    """Raise `UsageFault` unless a path stays in the folder of the program, on every system."""
    parts = PurePosixPath(path).parts
    wrong = None
    if path.startswith("/") or "\\" in path or ":" in path:
        wrong = "is not relative to the folder of the program"
    elif ".." in parts or "/".join(parts) != path:
        wrong = "has a part like .. or an empty one"
    elif len(path.encode(errors="replace")) > MAX_PATH_BYTES:
        wrong = f"has more than {MAX_PATH_BYTES} bytes"
    elif not path.isprintable() or unicodedata.normalize("NFC", path) != path:
        wrong = "has characters that not every system shows"
    if wrong is not None:
        raise UsageFault(f"the path {short_repr(path)} {wrong}: write paths like mybot.py or data/model.bin")


def _read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: int, limits: SubmissionLimits) -> bytes:
    """Return the content of a file in a zip. Raise `UsageFault` as soon as it has more than `room` bytes."""
    content = bytearray()
    with archive.open(entry) as file:
        while chunk := file.read(UNPACK_CHUNK_BYTES):
            content += chunk
            if len(content) > room:
                raise UsageFault(f"the files have more than {limits.unpacked_bytes} bytes unpacked: hand in less")
    return bytes(content)


def _check_names(paths: Sequence[str]) -> None:
    """Raise `UsageFault` if two paths are equal but for case, or if one is a folder of another."""
    seen: dict[str, str] = {}
    folders: set[str] = set()
    for path in paths:
        key = path.casefold()
        if key in seen:
            raise UsageFault(f"{short_repr(path)} and {short_repr(seen[key])} have one name: hand in one of them")
        seen[key] = path
        folders |= {str(parent) for parent in PurePosixPath(key).parents}
    for key in folders & seen.keys():
        raise UsageFault(f"{short_repr(seen[key])} is a file and a folder: give one of them another name")


def _without_outer_folder(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files relative to the folder that was packed, if the zip has only this folder with the manifest."""
    outer = {path.partition("/")[0] for path in files}
    if len(outer) != 1 or MANIFEST_FILE in files:
        return files
    (folder,) = outer
    if f"{folder}/{MANIFEST_FILE}" not in files:
        return files
    return {path.removeprefix(f"{folder}/"): content for path, content in files.items()}
