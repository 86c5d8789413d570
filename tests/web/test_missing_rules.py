"""A database with matches of games whose rules are not here: every surface shows them, with one line that says so."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from arena.store.result_queries import iter_results, leaderboard_of
from arena.store.store import Reader, Store
from arena.web.site import Site
from bots.client.bot import Bot
from commands import call
from games.poker.kuhn import Kuhn
from games.tictactoe.rules import TicTacToe
from protocol.games.spec import GameSpec
from registered_games import registered
from tournaments import played
from web_client import Visitor, served

MISSING = ("hex", "whist")
"""The games that are unknown here: one that is won, drawn or lost, and one with payoffs and hidden cards."""
LINES = {game: f"this arena does not have the rules of {game}" for game in MISSING}


class Hex(TicTacToe):
    name = "hex"


class Whist(Kuhn):
    name = "whist"


class Folder(NamedTuple):
    """A data folder, with the id of a match and of a tournament of each game."""

    path: Path
    matches: dict[str, str]
    tournaments: dict[str, str]

    def fill(self, text: str, game: str) -> str:
        return text.format(game=game, match=self.matches[game], tournament=self.tournaments[game])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Tournaments of the games that are missing later, and of one that is not."""
    data = tmp_path_factory.mktemp("missing") / "data"
    specs = [GameSpec(made.name, "games.poker", f"{__name__}:{made.__name__}") for made in (Hex, Whist)]
    with registered(*specs), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bot, "games", (*MISSING, "nim"))
        for game in (*MISSING, "nim"):
            options = ("--game", game, "--rounds", "2", "--seed", "7", "--in-process", "--data", str(data))
            done = played("arena", "tournament", "random", "r2=random", *options)
            assert done.code == 0, done.err
    with closing(Reader.open(data / "arena.db")) as reader:
        found = list(reader.iterate(iter_results))
    return Folder(
        data, {one.game: one.match for one in found}, {one.game: one.tournament for one in found if one.tournament}
    )


@pytest.fixture(scope="module")
def visitor(folder: Folder) -> Iterator[Visitor]:
    with (
        closing(Store.open(folder.path / "arena.db", create=False)) as store,
        closing(Reader.open(folder.path / "arena.db")) as reader,
        served(Site(reader)) as url,
    ):
        yield Visitor(url, store)


ADDRESSES = [
    ("/", "{game}"),
    ("/leaderboard", "{game}"),
    ("/leaderboard/{game}", "random"),
    ("/leaderboard/{game}/classic", "random"),
    ("/matches", "{match}"),
    ("/matches?game={game}", "{match}"),
    ("/matches/{match}", "This arena does not have the rules of {game}."),
    ("/rules/{game}", "This arena does not have the rules of {game}."),
    ("/tournaments", "{tournament}"),
    ("/tournaments/{tournament}", "{match}"),
    ("/bots/random", "{game}"),
    ("/bots/random?pool={game}/classic", "{match}"),
    ("/wall", ""),
    ("/play", ""),
    ("/connect", ""),
    ("/api/v1/games", ""),
    ("/api/v1/pools?game={game}", "{game}/classic"),
    ("/api/v1/leaderboard/{game}/classic", "random"),
    ("/api/v1/matches?game={game}", "{match}"),
    ("/api/v1/matches/{match}", "this arena does not have the rules of {game}"),
    ("/api/v1/matches/{match}/result", "{match}"),
    ("/api/v1/matches/{match}/record.jsonl", "{match}"),
    ("/api/v1/matches/{match}/match.html", "this arena does not have the rules of {game}"),
    ("/api/v1/tournaments", "{tournament}"),
    ("/api/v1/tournaments/{tournament}", "{tournament}"),
    ("/api/v1/bots/random", "{game}/classic"),
    ("/api/v1/bots/random/history?pool={game}/classic", "{match}"),
]


@pytest.mark.parametrize(("address", "shows"), ADDRESSES, ids=[address for address, _ in ADDRESSES])
@pytest.mark.parametrize("game", MISSING)
def test_every_page_answers_and_shows_the_match(
    visitor: Visitor, folder: Folder, game: str, address: str, shows: str
) -> None:
    answer = visitor.get(folder.fill(address, game))
    assert answer.status == 200, answer.text
    assert folder.fill(shows, game).lower() in html.unescape(answer.text).lower()
    assert "there is no game" not in answer.text


def test_pages_link_to_nothing_that_is_not_there(visitor: Visitor, folder: Folder) -> None:
    seen, left = set[str](), ["/", "/leaderboard", *(f"/leaderboard/{game}" for game in MISSING), "/bots/random"]
    for address in left:
        for link in re.findall(r'href="(/(?!static|docs|download)[^"#]*)"', visitor.get(address).text):
            if any(game in link for game in MISSING):
                seen.add(html.unescape(link))
    assert {f"/rules/{game}" for game in MISSING} <= seen
    assert {link: visitor.get(link).status for link in seen} == dict.fromkeys(seen, 200)


@pytest.mark.parametrize("game", MISSING)
def test_a_match_has_no_grades_and_says_why(visitor: Visitor, folder: Folder, game: str) -> None:
    answer = visitor.get(folder.fill("/api/v1/matches/{match}/grades", game))
    said = msgspec.json.decode(answer.body)["error"]["message"]
    assert (answer.status, said) == (400, folder.fill("{match} has no grades: " + LINES[game], game))


ADVICE = "; `arena game add FILE.py` adds a game of your own\n"
UNCHECKED = ": 2 matches were not refereed, and the ratings in its pools were not computed again" + ADVICE
COMMANDS = [
    ("leaderboard", 0, "{game}/classic, by score"),
    ("leaderboard --json", 0, '"{game}/classic"'),
    ("leaderboard --game {game}", 0, "{game}/classic, by score"),
    ("matches", 0, "{match}  {game}"),
    ("matches --game {game}", 0, "{match}  {game}"),
    ("bot show random", 0, "{game}/classic"),
    (
        "replay show {match}",
        0,
        "\nthis arena does not have the rules of {game}" + ADVICE,
    ),
    ("replay show {match} --json", 0, "{match}: this arena does not have the rules of {game}"),
    ("replay export {match} --to FILE.json", 0, "{match}"),
    ("replay export {match} --to FILE.html", 0, "{match}"),
    ("replay export {match} --to FILE.jsonl", 0, "{match}"),
    ("replay verify {match}", 1, "arena: {match}: this arena does not have the rules of {game}\n"),
    (
        "replay verify",
        1,
        "arena: this arena does not have the rules of {game}: 2 records not verified" + ADVICE,
    ),
    ("replay grade {match}", 1, "arena: {match}: this arena does not have the rules of {game}\n"),
    ("replay grade --bot random --game {game}", 0, "no match of random can be graded"),
    ("export --to FOLDER --plies --game {game}", 0, "2 matches"),
    (
        "match annul {match}",
        2,
        "arena: this arena does not have the rules of {game}, so its ratings cannot be computed again\n",
    ),
    ("db check", 0, "this arena does not have the rules of {game}" + UNCHECKED),
    ("db check --quick", 0, "this arena does not have the rules of {game}" + UNCHECKED),
    (
        "db rebuild-ratings",
        0,
        "this arena does not have the rules of {game}: the ratings in its pools are as they were" + ADVICE,
    ),
]


@pytest.mark.parametrize(("words", "code", "says"), COMMANDS, ids=[words for words, _, _ in COMMANDS])
@pytest.mark.parametrize("game", MISSING)
def test_every_command_shows_it_or_says_why_not_in_a_line_for_each_game(
    tmp_path: Path, folder: Folder, game: str, words: str, code: int, says: str
) -> None:
    given = [re.sub("^(FILE|FOLDER)", str(tmp_path / "to"), word) for word in folder.fill(words, game).split()]
    database = ("--data", str(folder.path))
    done = call("arena", *given, *database)
    said = done.out + done.err
    assert done.code == code, said
    assert folder.fill(says, game) in said
    assert said.count(LINES[game]) <= 1
    assert "there is no game" not in said


def test_ratings_of_missing_games_stay_and_others_are_computed_again(tmp_path: Path, folder: Folder) -> None:
    with closing(Store.open(folder.path / "arena.db", create=False)) as store:
        before = {pool: store.read(leaderboard_of, f"{pool}/classic") for pool in (*MISSING, "nim")}
        assert all(before.values())
        with store._engine.begin() as connection:
            connection.exec_driver_sql("UPDATE ratings SET mu = mu + 1 WHERE pool LIKE 'nim/%'")
        found = call("arena", "db", "check", "--data", str(folder.path))
        assert found.code == 1
        assert "2 standings do not follow from the results" in found.out
        assert call("arena", "db", "rebuild-ratings", "--data", str(folder.path)).code == 0
        assert {pool: store.read(leaderboard_of, f"{pool}/classic") for pool in before} == before


def test_a_game_of_which_there_is_nothing_is_still_a_mistake(visitor: Visitor, folder: Folder) -> None:
    for words in (("leaderboard",), ("matches",)):
        done = call("arena", *words, "--game", "chess", "--data", str(folder.path))
        assert (done.code, done.err[:31]) == (2, "arena: there is no game 'chess'")
    for address, status in (
        ("/leaderboard/chess", 404),
        ("/leaderboard/chess/classic", 404),
        ("/rules/chess", 404),
        ("/matches?game=chess", 400),
        ("/api/v1/matches?game=chess", 400),
        ("/api/v1/pools?game=chess", 400),
    ):
        answer = visitor.get(address)
        assert (answer.status, address) == (status, address)
        assert "here is no game" in answer.text
