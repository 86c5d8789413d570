"""The page of a match as it comes from the server: what it says without scripts, and of what is not whole."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import urljoin

import pytest

from arena.store.annulment import annul_matches
from arena.store.result_queries import result_of
from arena.store.store import Reader
from arena.store.thinning import remove_records_of
from arena.web.bundle import modules_to_preload
from arena.web.formatting import result_sentence
from arena.web.room_files import script_paths
from library import ANN, PERFECT, Library
from protocol.games import game_names
from web_client import Visitor, open_pages


def test_a_page_says_without_scripts_who_played_and_how_it_ended(visitor: Visitor) -> None:
    match = Library(visitor.store).play("nim", [PERFECT, ANN._replace(ends="resign", at=2)])
    told = visitor.get(f"/matches/{match}")
    assert told.status == 200
    for said in ("perfect won after 3 moves: ann resigned", "Nim, classic", "25.0 ± 25.0", "60 s + 0.5 s", match):
        assert said in told.text
    assert 'data-stored data-bots="[&#34;perfect&#34;, &#34;ann&#34;]" data-graded="exact"' in told.text


def test_a_match_that_was_annulled_is_marked_on_its_page_among_others_and_in_the_api(visitor: Visitor) -> None:
    match = Library(visitor.store).play("nim", [PERFECT, ANN])
    assert "annulled" not in visitor.get("/matches").text + visitor.get(f"/matches/{match}").text
    visitor.store.write(annul_matches, [match])
    assert "annulled by the operator" in visitor.get(f"/matches/{match}").text
    assert '<span class="badge">annulled</span>' in visitor.get("/matches").text
    for address in (f"/api/v1/matches/{match}", f"/api/v1/matches/{match}/result"):
        assert json.loads(visitor.get(address).text)["annulled"] == "nim/classic"


def test_no_module_has_to_wait_until_another_names_it(visitor: Visitor) -> None:
    page = visitor.get(f"/matches/{Library(visitor.store).play('nim', [PERFECT, ANN])}").text
    asked_for = re.findall('<link rel="modulepreload" href="(.*)">', page)
    assert any(address.endswith("/viewer/main.js") for address in asked_for)
    assert not any(address.endswith("/check/check.js") for address in asked_for), "only who verifies needs that"
    assert not any(address.endswith("/arena-socket.js") for address in asked_for), "only who follows a match needs that"
    rooms = [address.partition("/games/")[2] for address in asked_for if "/games/" in address]
    assert rooms == ["nim/board.js"], "the board of its game alone"
    for address in asked_for:
        for imported in re.findall(r'^(?:import|})[^;]*? from "(.*)";', visitor.get(address).text, re.MULTILINE):
            assert urljoin(address, imported) in asked_for, address


@pytest.mark.parametrize("game", game_names())
def test_the_board_of_every_game_is_found(game: str) -> None:
    (board,) = script_paths(game, "board")
    assert board in modules_to_preload(game=game)


@pytest.mark.parametrize(
    ("game", "config", "said"),
    [("dilemma", {"rounds": 1}, ""), ("risk-campaign", {"max_rounds": 1}, ' data-graded="estimated"')],
)
def test_grades_are_asked_for_as_somebody_can_give_them(
    visitor: Visitor, game: str, config: dict[str, int] | None, said: str
) -> None:
    match = Library(visitor.store).play(game, [PERFECT._replace(bot=ANN.bot), ANN], config)
    page = visitor.get(f"/matches/{match}").text
    assert re.findall(' data-graded="[a-z]*"', page) == ([said] if said else [])


def test_a_match_that_may_be_under_way_is_looked_for_by_the_page(tmp_path: Path) -> None:
    with open_pages(tmp_path, socket="8765") as visitor:
        assert 'data-match="soon"' in visitor.get("/matches/soon").text
        assert visitor.get("/matches/No-Match").status == 404


@pytest.mark.parametrize(
    "damage", [lambda whole: whole[:-30], lambda whole: gzip.compress(gzip.decompress(whole)[:-40])]
)
def test_a_record_that_is_cut_short_costs_only_what_it_held(
    visitor: Visitor, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    match = Library(visitor.store).play("nim", [PERFECT, ANN])
    with sqlite3.connect(tmp_path / "arena.db") as database:
        (whole,) = database.execute("SELECT data FROM records").fetchone()
        database.execute("UPDATE records SET data = ?", [damage(whole)])
    told = visitor.get(f"/matches/{match}")
    assert told.status == 200
    assert "is cut short" in told.text
    assert "viewer" not in told.text
    assert "won after" in told.text


def test_a_record_that_was_removed_is_said_to_be_gone_and_the_result_is_shown(visitor: Visitor) -> None:
    match = Library(visitor.store).play("nim", [PERFECT, ANN])
    visitor.store.write(remove_records_of, [1])
    said = f"the record of match {match} was removed: its result is what is left"
    told = visitor.get(f"/matches/{match}")
    assert told.status == 200
    assert said[1:] in told.text
    assert "viewer" not in told.text
    assert "won after" in told.text
    for part in ("", "/grades", "/record.jsonl.gz", "/record.jsonl", "/match.html"):
        answer = visitor.get(f"/api/v1/matches/{match}{part}")
        assert (answer.status, json.loads(answer.text)) == (410, {"error": {"message": said}})
    assert visitor.get(f"/api/v1/matches/{match}/result").status == 200


def test_who_was_beaten_is_not_said_to_have_won(visitor: Visitor) -> None:
    played = visitor.get(f"/matches/{Library(visitor.store).play('nim', [PERFECT, ANN])}").text
    assert re.findall(r'<td class="number">(\d)</td><td>([a-z ]+)</td>', played) == [("1", "won"), ("2", "lost")]


def test_every_end_has_its_words(visitor: Visitor, tmp_path: Path) -> None:
    library = Library(visitor.store)
    said = {}
    with closing(Reader.open(tmp_path / "arena.db")) as reader:
        for ends in ("sleep", "leave", "cheat"):
            found = reader.read(result_of, library.play("nim", [PERFECT, ANN._replace(ends=ends, at=2)]))
            assert found is not None
            said[ends] = result_sentence(found.reason, found.plies, found.seats)
    assert said == {
        "sleep": "perfect won after 3 moves: ann ran out of time",
        "leave": "perfect won after 3 moves: ann lost its connection",
        "cheat": "perfect won after 3 moves: ann made three illegal moves",
    }
