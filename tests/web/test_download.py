"""The client as a wheel: what is in it, and where it is to be had."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path

import grimp
import pytest

from arena.web import client_wheel as module
from arena.web.client_wheel import ENTRY_MODULES, REQUIREMENTS, build_client_wheel
from arena.web.site import page_url
from machine.source_digest import PACKAGES
from protocol import VERSION
from web_client import Visitor

ROOT = Path(__file__).parents[2]
NAME = f"bot_arena_client-{VERSION}-py3-none-any.whl"


def packed() -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(build_client_wheel().content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_has_the_modules_that_a_bot_imports_and_no_other() -> None:
    graph = grimp.build_graph(*PACKAGES, include_external_packages=True, exclude_type_checking_imports=True)
    needed = set(ENTRY_MODULES).union(*(graph.find_upstream_modules(entry) for entry in ENTRY_MODULES))
    own = {name for name in needed if name.partition(".")[0] in PACKAGES}
    own |= {".".join(name.split(".")[:parts]) for name in own for parts in range(1, name.count(".") + 1)}
    found = {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in packed()
        if name.endswith(".py")
    }
    assert found == own - {""}
    assert {"machine.game_discovery", "protocol.games.turn_game", "protocol.games.wire_game"} <= found, "by name alone"
    others = {name.partition(".")[0] for name in needed - own} - sys.stdlib_module_names
    assert others == {*REQUIREMENTS, "uvloop"}  # which it does without


def test_the_wheel_has_the_maps_and_the_licence_and_says_what_it_needs() -> None:
    files = packed()
    info = f"bot_arena_client-{VERSION}.dist-info"
    maps = {path.name for path in (ROOT / "games/risk/rules/maps").glob("*.toml")}
    assert maps == {Path(name).name for name in files if name.endswith(".toml")}
    assert files[f"{info}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    said = files[f"{info}/METADATA"].decode()
    assert f"Requires-Python: {project['requires-python']}\n" in said
    assert re.findall(r"^Requires-Dist: (\w+)", said, re.MULTILINE) == list(REQUIREMENTS)


def test_the_record_of_the_wheel_has_every_file_with_its_digest_and_size() -> None:
    files = packed()
    (record,) = (name for name in files if name.endswith("/RECORD"))
    rows = {name: (digest, size) for name, digest, size in csv.reader(io.StringIO(files[record].decode()))}
    assert rows.pop(record) == ("", "")
    assert rows == {
        name: (
            f"sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip('=')}",
            str(len(content)),
        )
        for name, content in files.items()
        if name != record
    }


def test_installed_beside_the_packages_of_others_it_has_none_of_them_and_the_same_sources_are_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "static"))
    for other in REQUIREMENTS:
        (tmp_path / other).mkdir()
        (tmp_path / other / "__init__.py").touch()
    monkeypatch.setattr(module, "PACKAGES_FOLDER", tmp_path)
    assert build_client_wheel.__wrapped__() == build_client_wheel()


def test_the_page_has_the_command_for_the_address_by_which_it_was_reached(visitor: Visitor) -> None:
    page = visitor.get("/download").text
    address = f"{visitor.url}/download/{NAME}"
    assert f"python -m pip install {address}<" in page
    assert build_client_wheel().sha256 in page
    told = visitor.get(f"/download/{NAME}")
    assert (told.status, told.body) == (200, build_client_wheel().content)
    assert visitor.get(f"/download/{NAME}", if_none_match=told.headers["etag"]).status == 304


def test_the_documents_name_the_files_of_this_version() -> None:
    for document, wheel in (("docs/writing-a-bot.md", "bot_arena_client"), ("README.md", "bot_arena")):
        named = set(re.findall(rf"{wheel}-[^/ ]+\.whl", (ROOT / document).read_text()))
        assert named == {f"{wheel}-{VERSION}-py3-none-any.whl"}


@pytest.mark.parametrize(
    ("host", "encrypted", "url"),
    [
        ("arena.example:8080", False, "http://arena.example:8080"),
        ("arena.example", True, "https://arena.example"),
        ("[2001:db8::1]:8080", False, "http://[2001:db8::1]:8080"),
        ("arena.example:8080/x", False, "http://localhost"),
        ('a"; rm -rf ~', True, "https://localhost"),
    ],
)
def test_the_address_of_the_pages_is_that_by_which_they_were_reached(host: str, encrypted: bool, url: str) -> None:
    assert page_url(host, encrypted=encrypted) == url
