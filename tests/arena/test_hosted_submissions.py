"""A submission of a hosted bot is read as it is, or refused in one line before anything of it is kept."""

from __future__ import annotations

import stat
import struct
import zipfile
from collections.abc import Callable
from io import BytesIO

import pytest

from arena.hosting.languages import ENDINGS, LANGUAGES, language_of
from arena.hosting.limits import SubmissionLimits
from arena.hosting.manifest import Manifest
from arena.hosting.submission import Submission, read_packed, read_source_file, read_submission
from protocol.errors import UsageFault

GAMES = ("nim", "tictactoe")
LIMITS = SubmissionLimits(packed_bytes=4000, unpacked_bytes=20_000, files=5)
MANIFEST = b'language = "python"\ngames = ["nim"]\n'


def zipped(*files: tuple[str, bytes], **of_entries: int) -> bytes:
    """A zip with these files, each with these attributes of `ZipInfo`; names may come twice."""
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            for key, value in of_entries.items():
                setattr(entry, key, value)
            archive.writestr(entry, content)
    return packed.getvalue()


def read(data: bytes) -> Submission:
    return read_submission(data, GAMES, LIMITS)


def with_manifest(*files: tuple[str, bytes], **of_entries: int) -> bytes:
    return zipped(("bot.toml", MANIFEST), ("mine.py", b"print()"), *files, **of_entries)


def test_a_zip_gives_its_files_and_the_commands_of_its_language() -> None:
    found = read(with_manifest(("data/model.bin", b"\0" * 9), ("data/", b"")))
    assert found.files == {"bot.toml": MANIFEST, "mine.py": b"print()", "data/model.bin": b"\0" * 9}
    assert found.manifest == Manifest(games=("nim",), command=("python3", "-P", "mine.py"), language="python")


def test_a_packed_folder_is_read_as_the_files_in_it() -> None:
    outer = zipped(("mine/bot.toml", MANIFEST), ("mine/mine.py", b"print()"))
    assert read(outer).files == read(with_manifest()).files


def test_what_macos_adds_to_a_folder_is_left_out_of_its_zip() -> None:
    clutter = (("__MACOSX/._mine", b""), ("mine/.DS_Store", b""), ("mine/._mine.py", b""), ("__MACOSX/mine/._m", b""))
    limits = SubmissionLimits(files=9)
    data = zipped(("mine/", b""), ("mine/bot.toml", MANIFEST), ("mine/mine.py", b"print()"), *clutter)
    plain = read(with_manifest())
    assert read_submission(data, GAMES, limits) == plain
    stored = Submission(files={**plain.files, ".DS_Store": b""}, manifest=plain.manifest)
    assert read_packed(stored.pack(), GAMES, limits) == stored, "an arena had taken it with that"


def test_equal_contents_have_one_digest_however_they_are_packed() -> None:
    one, other = read(with_manifest(compress_type=zipfile.ZIP_STORED)), read(zipped(*[*_entries()][::-1]))
    assert one.digest == other.digest == read(one.pack()).digest
    assert one.pack() == other.pack()
    changed = [read(with_manifest(("a", b""))).digest, read(zipped(("bot.toml", MANIFEST), ("mine.py", b"print(1)")))]
    assert one.digest not in changed


def _entries() -> dict[str, bytes]:
    return {"bot.toml": MANIFEST, "mine.py": b"print()"}.items()  # type: ignore[return-value]


def test_a_single_file_has_a_manifest_made_of_its_ending_and_its_games() -> None:
    found = read_source_file("mine.c", b"int main(void) {}", ["nim", "tictactoe", "nim"], GAMES, LIMITS)
    assert found.manifest.build == ("cc", "-O2", "-o", "bot", "mine.c", "-lm")
    assert found.manifest.command == ("./bot",)
    assert found.manifest.games == ("nim", "tictactoe")
    assert read(found.pack()) == found


def test_a_python_program_of_the_library_is_run_by_the_bridge() -> None:
    command = read_source_file("mine.py", b"from bots import Bot, run\n", ["nim"], GAMES, LIMITS).manifest.command
    assert command == ("python3", "-P", "-m", "bots.commands.lines", "mine.py")


def test_a_mark_at_the_beginning_of_a_file_changes_nothing() -> None:
    mark = b"\xef\xbb\xbf"
    program = mark + b"from bots import Bot, run\n"
    command = ("python3", "-P", "-m", "bots.commands.lines", "mine.py")
    assert read_source_file("mine.py", program, ["nim"], GAMES, LIMITS).manifest.command == command
    assert read(zipped(("bot.toml", mark + MANIFEST), ("mine.py", program))).manifest.command == command


def test_every_language_has_an_ending_of_its_own() -> None:
    assert [language_of(f"mine{ending}") for ending in ENDINGS] == list(LANGUAGES)


def test_commands_of_the_manifest_replace_those_of_a_language() -> None:
    text = b'games = ["nim"]\ncommand = ["./run", "fast"]\nbuild = ["make"]\n'
    found = read(zipped(("bot.toml", text), ("run", b"#!/bin/sh\n"))).manifest
    assert found == Manifest(games=("nim",), command=("./run", "fast"), build=("make",))


def _with_mode(mode: int) -> bytes:
    return with_manifest(("odd", b"/etc/passwd"), external_attr=mode << 16)


def _bomb_that_lies() -> bytes:
    """A zip whose headers say that a file of 30,000 bytes has ten."""
    data = bytearray(with_manifest(("zeros", b"\0" * 30_000)))
    real, told = struct.pack("<I", 30_000), struct.pack("<I", 10)
    return bytes(data.replace(real, told))


def _encrypted() -> bytes:
    data = bytearray(with_manifest())
    at = data.index(b"PK\x01\x02")
    while at >= 0:
        data[at + 8] |= 1
        at = data.find(b"PK\x01\x02", at + 4)
    return bytes(data)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: with_manifest(("../out", b"")), "has a part like .. or an empty one"),
        (lambda: with_manifest(("a/../../out", b"")), "has a part like .. or an empty one"),
        (lambda: with_manifest(("a//b", b"")), "has a part like .. or an empty one"),
        (lambda: with_manifest(("./a", b"")), "has a part like .. or an empty one"),
        (lambda: with_manifest(("/etc/passwd", b"")), "is not relative to the folder"),
        (lambda: with_manifest(("a\\b", b"")), "is not relative to the folder"),
        (lambda: with_manifest(("C:evil", b"")), "is not relative to the folder"),
        (lambda: with_manifest(("a\nb", b"")), "has characters that not every system shows"),
        (lambda: with_manifest(("e\u0301", b"")), "has characters that not every system shows"),
        (lambda: with_manifest(("a" * 201, b"")), "has more than 200 bytes"),
        (lambda: with_manifest(("mine.py", b"other")), "have one name"),
        (lambda: with_manifest(("Mine.PY", b"other")), "have one name"),
        (lambda: with_manifest(("mine.py/x", b"")), "is a file and a folder"),
        (lambda: _with_mode(stat.S_IFLNK | 0o777), "in the zip is a link"),
        (lambda: _with_mode(stat.S_IFCHR | 0o666), "in the zip is no ordinary file"),
        (lambda: _with_mode(stat.S_IFIFO | 0o666), "in the zip is no ordinary file"),
        (_encrypted, "is encrypted"),
        (lambda: with_manifest(("zeros", b"\0" * 30_000)), "have more than 20000 bytes unpacked"),
        (_bomb_that_lies, "this is not a sound zip"),
        (lambda: with_manifest(*((f"{n}", b"") for n in range(4))), "the zip has 6 files: 5 at most"),
        (lambda: with_manifest(("a", b""), compress_type=zipfile.ZIP_LZMA), "is packed in a rare way"),
        (lambda: b"no zip", "this is not a sound zip: File is not a zip file"),
        (lambda: with_manifest()[:-30], "this is not a sound zip"),
        (lambda: b"x" * 4001, "4001 bytes were handed in: 4000 at most"),
        (
            lambda: zipped(("mine.py", b"")),
            "there is no bot.toml: add one beside the program, with a line like language",
        ),
        (lambda: zipped(("a/b/bot.toml", b"")), "bot.toml is in the folder 'a/b': hand in this folder alone"),
        (lambda: zipped(("a/bot.toml", b""), ("b", b"")), "bot.toml is in the folder 'a': hand in this folder alone"),
        (lambda: zipped(("a/mine.ZIP", b"")), "no bot.toml, but another zip, 'a/mine.ZIP': hand that one in"),
        (
            lambda: zipped(("bot.toml", b'games = ["nim"]\ncommand = ["./run"]'), ("run", b"#!/bin/sh\r\n")),
            "'./run' has the line ends of Windows (CRLF) and can't run so: save it with those of Unix (LF)",
        ),
    ],
)
def test_a_bad_zip_is_refused_in_one_line(make: Callable[[], bytes], why: str) -> None:
    with pytest.raises(UsageFault) as fault:
        read(make())
    assert why in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"games = [", "bot.toml is not TOML"),
        (b"#" * 16_385, "bot.toml has 16385 bytes: at most 16384"),
        (b'games = ["nim"]\ncommand = ["./bot"]\nlanguage = "perl"', "bot.toml: language is 'perl': one of"),
        (b"\xff", "bot.toml is not TOML"),
        (b'language = "python"\n', "bot.toml: games is missing: add a line like games = ["),
        (b'games = ["go"]\nlanguage = "python"', "bot.toml: games has 'go': one of nim, tictactoe"),
        (b'games = []\nlanguage = "python"', "bot.toml: games has 0 games: 1 to 8"),
        (b'games = ["nim"]\n', "bot.toml: there is no command"),
        (b'games = ["nim"]\nlanguage = "perl"', "bot.toml: language is 'perl': one of c, go, java"),
        (b'games = ["nim"]\nlanguage = "c"', "no file beside it ends in .c: name the program"),
        (b'games = ["nim"]\nlanguage = "python"\nfile = "x.py"', "file is 'x.py', which was not handed in"),
        (b'games = ["nim"]\ncommand = []', "command has 0 words: 1 to 32"),
        (b'games = ["nim"]\ncommand = ["a\\u0000"]', "command has 'a\\x00': a word has"),
        (b'games = ["nim"]\ncommand = ["x"]\nnetwork = true', "bot.toml: there is no field 'network'"),
    ],
)
def test_a_wrong_manifest_is_refused_by_what_it_should_be(text: bytes, why: str) -> None:
    with pytest.raises(UsageFault) as fault:
        read(zipped(("bot.toml", text), ("mine.py", b"")))
    assert why in str(fault.value)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("mine.pl", "'mine.pl' ends in '.pl': one of .c, .go, .java, .js, .py, .sh, or a zip with bot.toml"),
        ("a/mine.py", "leave out its folder"),
        ("..", "has a part like .."),
        ("-x.py", "file is '-x.py', which python takes for an option: let its name begin otherwise"),
    ],
)
def test_a_file_with_a_wrong_name_is_refused(name: str, why: str) -> None:
    with pytest.raises(UsageFault) as fault:
        read_source_file(name, b"", ["nim"], GAMES, LIMITS)
    assert why in str(fault.value)


def test_a_shell_script_with_line_ends_of_windows_is_refused_and_other_programs_have_them() -> None:
    text = b"#!/bin/sh\r\nread line\r\n"
    with pytest.raises(UsageFault, match=r"^'mine\.sh' has the line ends of Windows \(CRLF\) and can't run so"):
        read_source_file("mine.sh", text, ["nim"], GAMES, LIMITS)
    assert read_source_file("mine.py", text, ["nim"], GAMES, LIMITS).files["mine.py"] == text
