"""A match in one HTML file: what is in it, and that nothing of it is loaded from elsewhere."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from arena.web import bundle
from arena.web.offline import ENTRY_MODULE, list_modules, list_sheets
from arena.web.site import static_file
from commands import call
from golden import make
from library import ANN, PERFECT, Library
from web_client import Visitor

GOLDEN = make.HERE / "duel-south-america.jsonl"


@pytest.fixture
def page(tmp_path: Path) -> str:
    return exported(GOLDEN, tmp_path)


def exported(record: Path, folder: Path) -> str:
    to = folder / "match.html"
    done = call("arena", "replay", "export", str(record), "--to", str(to))
    assert (done.code, done.err) == (0, "")
    return to.read_text()


def held(page: str, name: str) -> Any:
    found = re.search(rf'<script [^>]*(?:id|type)="{name}"[^>]*>(.*?)</script>', page)
    assert found is not None
    return json.loads(found[1])


def test_the_match_is_in_it_as_the_api_tells_it_with_its_grades(page: str) -> None:
    assert held(page, "match-document") == json.loads(
        call("arena", "replay", "show", str(GOLDEN), "--json", "--value", "none").out
    )
    assert held(page, "match-grades") == json.loads(call("arena", "replay", "grade", str(GOLDEN), "--json").out)


def test_it_says_how_the_match_ended_as_its_page_does(visitor: Visitor) -> None:
    match = Library(visitor.store).play("nim", [PERFECT, ANN._replace(ends="resign", at=2)])
    for address in (f"/matches/{match}", f"/api/v1/matches/{match}/match.html"):
        (told,) = re.findall('<p class="told">(.*)</p>', visitor.get(address).text)
        assert told == "perfect won after 3 moves: ann resigned.", address


def test_it_says_when_the_match_ended_as_pages_write_a_time(page: str) -> None:
    assert re.search(r"<p class=\"date\">\S+ · \d{4}-\d\d-\d\d \d\d:\d\d UTC</p>", page)


def test_every_module_that_is_imported_is_in_it_and_no_other_address(page: str) -> None:
    modules = {
        path: base64.b64decode(url.partition(",")[2]).decode()
        for path, url in held(page, "importmap")["imports"].items()
    }
    assert ENTRY_MODULE in modules
    told = held(page, "games")["risk-duel"]
    assert {told["board"], told["check"]} < modules.keys()
    for path, source in modules.items():
        imported = re.findall(r'\b(?:from |import\()"([^"]+)"', source)
        assert set(imported) <= modules.keys(), path
    told = re.sub(r'<script [^>]*(?:type="importmap"|application/json|src="data:)[^>]*>.*?</script>', "", page)
    assert re.findall(r'(?:src|href|action)="(?!#)([^"]*)"|url\(|@import', told) == []


def test_modules_are_as_they_are_but_for_where_they_import_from() -> None:
    for path in list_modules("risk-campaign"):
        source = static_file(path).read_text()
        imports = [line for line in source.splitlines() if re.match(r"(?:import|export|}) .*\bfrom ", line)]
        assert len(bundle.IMPORT_PATTERN.findall(source)) >= len(imports), path


def test_the_same_match_gives_the_same_bytes(page: str, tmp_path: Path) -> None:
    tmp_path.joinpath("again").mkdir()
    assert exported(GOLDEN, tmp_path / "again") == page


def test_scripts_and_styles_run_by_its_nonce_alone(page: str) -> None:
    content_security_policy = html.unescape(
        re.findall(r'http-equiv="content-security-policy" content="([^"]+)"', page)[0]
    )
    (nonce,) = set(re.findall(r'nonce="?([0-9a-f]+)', page))
    assert f"script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'" in content_security_policy
    assert "default-src 'none'" in content_security_policy
    assert "unsafe" not in content_security_policy
    assert page.count("<style") == 1
    assert all(f'nonce="{nonce}"' in tag or "application/json" in tag for tag in re.findall(r"<script[^>]*>", page))


def test_what_strangers_wrote_ends_no_script_and_begins_none(tmp_path: Path) -> None:
    hostile = "</script><img src=x onerror=alert(1)>"
    lines = [json.loads(line) for line in GOLDEN.read_bytes().splitlines()]
    lines[0]["seats"][0]["version"] = hostile
    lines[1]["info"] = {"note": hostile}
    lines[-1]["finished"] = hostile
    record = tmp_path / "hostile.jsonl"
    record.write_text("".join(json.dumps(line) + "\n" for line in lines))
    page = exported(record, tmp_path)
    assert "<img" not in page
    assert held(page, "match-document")["plies"][0]["info"]["note"] == hostile


def test_a_record_that_does_not_follow_is_told_of_in_a_sentence(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in GOLDEN.read_bytes().splitlines()]
    lines[3]["event"]["move"] = {"nothing": 1}
    record = tmp_path / "wrong.jsonl"
    record.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (banner,) = re.findall('<p class="banner lost">(.*)</p>', exported(record, tmp_path))
    assert re.fullmatch(r"[A-Z].*[^.]\.", banner)


@pytest.mark.parametrize("to", ["match.html", "match.json"])
def test_of_a_truncated_record_no_file_is_made_and_a_line_says_why(tmp_path: Path, to: str) -> None:
    for name, data in (
        ("cut.jsonl.gz", gzip.compress(GOLDEN.read_bytes())[:900]),
        ("cut.jsonl", GOLDEN.read_bytes()[:3000]),
    ):
        record = tmp_path / name
        record.write_bytes(data)
        done = call("arena", "replay", "export", str(record), "--to", str(tmp_path / to))
        assert done.code == 1
        assert done.err.startswith(f"arena: {record} is cut short")
        assert done.err.count("\n") == 1
        assert not tmp_path.joinpath(to).exists()


def test_the_sheets_are_those_of_the_page_of_a_match(visitor: Visitor) -> None:
    match = Library(visitor.store).play("nim", [PERFECT, ANN])
    linked = re.findall(r'href="/static/\w+/([\w/]+\.css)"', visitor.get(f"/matches/{match}").text)
    assert linked == list_sheets("nim")
