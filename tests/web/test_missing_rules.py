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
from bots.client.bot import Bot
from commands import call
from games.poker.kuhn import Kuhn
from games.tictactoe.rules import TicTacToe
from protocol.games.spec import GameSpec
from registered_games import registered
from tournaments import played
from web_client import Visitor, open_pages

STATED = ("connect4", "onecard")
"""The games that are unknown here, and whose records have states."""
MISSING = ("hex", "whist", *STATED)
"""The games that are unknown here: of each kind, one is won, drawn or lost, and one has payoffs and hidden cards."""
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

    def group_by(self, text: str) -> dict[str, list[str]]:
        """The missing games by what a text says of them: once of all, where it names none."""
        said: dict[str, list[str]] = {}
        for game in MISSING:
            said.setdefault(self.fill(text, game), []).append(game)
        return said


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Tournaments of the games that are missing later, and of one that is not."""
    data = tmp_path_factory.mktemp("missing") / "data"
    specs = [GameSpec(made.name, "games.poker", f"{__name__}:{made.__name__}") for made in (Hex, Whist)]
    for name, rules in zip(STATED, ("CONNECT_FOUR", "ONE_CARD"), strict=True):
        specs.append(GameSpec(name, "games.poker", f"example_games:{rules}.rules", version="1", digest="ab" * 32))
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
    with open_pages(folder.path) as visitor:
        yield visitor


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
def test_every_page_answers_and_shows_the_match(visitor: Visitor, folder: Folder, address: str, shows: str) -> None:
    for asked, games in folder.group_by(address).items():
        answer = visitor.get(asked)
        assert answer.status == 200, answer.text
        assert "there is no game" not in answer.text
        for game in games:
            assert folder.fill(shows, game).lower() in html.unescape(answer.text).lower()


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
    ("replay show {match}", 0, "\nthis arena does not have the rules of {game}" + ADVICE),
    ("replay show {match} --boards", 0, "\nthis arena does not have the rules of {game}" + ADVICE),
    ("replay show {match} --json", 0, "{match}: this arena does not have the rules of {game}"),
    ("replay export {match} --to FILE.json", 0, "{match}"),
    ("replay export {match} --to FILE.html", 0, "{match}"),
    ("replay export {match} --to FILE.jsonl", 0, "{match}"),
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
def test_every_command_shows_it_or_says_why_not_in_a_line_for_each_game(
    tmp_path: Path, folder: Folder, words: str, code: int, says: str
) -> None:
    for number, (asked, games) in enumerate(folder.group_by(words).items()):
        given = [re.sub("^(FILE|FOLDER)", str(tmp_path / f"to{number}"), word) for word in asked.split()]
        done = call("arena", *given, "--data", str(folder.path))
        said = done.out + done.err
        assert done.code == code, said
        assert "there is no game" not in said
        for game in games:
            assert folder.fill(says, game) in said
            assert said.count(LINES[game]) <= 1


@pytest.mark.parametrize("game", [game for game in MISSING if game not in STATED])
def test_a_record_without_states_is_not_verified(folder: Folder, game: str) -> None:
    done = call("arena", "replay", "verify", folder.matches[game], "--data", str(folder.path))
    assert (done.code, done.err) == (1, f"arena: {folder.matches[game]}: {LINES[game]}\n")


@pytest.mark.parametrize("game", STATED)
def test_a_record_with_states_is_checked_and_a_line_says_that_no_move_was_refereed(folder: Folder, game: str) -> None:
    match, data = folder.matches[game], str(folder.path)
    done = call("arena", "replay", "verify", match, "--data", data)
    line, compared, *_ = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(
        rf"{match}: consistent, \d+ plies, digest [0-9a-f]{{64}}; no move was refereed: the rules of {game} "
        r"\(version 1, digest abababababab\) are not here; checked: the seed, \d+ digests, whose turn it was(, 1 draw)?"
        ", the ratings",
        line,
    )
    assert compared.startswith(f"  it is match {match} as ")
    strict = call("arena", "replay", "verify", match, "--strict", "--data", data)
    assert strict.code == 1
    assert strict.err.startswith(f"arena: {match}: no move was refereed: the rules of {game} (version 1, ")


def test_all_records_are_verified_and_a_line_for_each_game_says_what_was_not(folder: Folder) -> None:
    done = call("arena", "replay", "verify", "--data", str(folder.path))
    assert done.code == 1
    assert done.out.splitlines() == [
        f"2 records: no move was refereed: the rules of {game} (version 1, digest abababababab) are not here"
        for game in reversed(STATED)
    ]
    assert done.err.splitlines() == [
        *(
            f"arena: this arena does not have the rules of {game}: 2 records not verified{ADVICE.rstrip()}"
            for game in ("whist", "hex")
        ),
        "arena: 4 of 10 records did not verify",
    ]


@pytest.mark.parametrize("game", STATED)
def test_recorded_moves_and_states_are_shown_in_plain_form(folder: Folder, game: str) -> None:
    shown = call("arena", "replay", "show", folder.matches[game], "--data", str(folder.path)).out
    boards = call("arena", "replay", "show", folder.matches[game], "--boards", "--data", str(folder.path)).out
    if game == "connect4":
        assert re.search(r"^  0  \S+ +[1-7] ", shown, re.MULTILINE)
        assert re.search(r"^0  \S+: [1-7], .* s left\ncolumns: \[", boards, re.MULTILINE)
    else:
        assert re.search(r"^  0  chance +\{.outcome.:\d,.of.:6\}", shown, re.MULTILINE)
        assert re.search(r"^cards: \[\d,\d\]\nactions: \[\]\nis_dealt: true$", boards, re.MULTILINE)
    assert re.search(r"^(win|draw) after \d+ plies$", shown, re.MULTILINE)


@pytest.mark.parametrize("game", STATED)
def test_the_document_of_a_match_has_the_recorded_states(visitor: Visitor, folder: Folder, game: str) -> None:
    document = msgspec.json.decode(visitor.get(folder.fill("/api/v1/matches/{match}", game)).body)
    assert document["header"]["rules"] == {"version": "1", "digest": "ab" * 32}
    assert document["start"] == {}
    assert [ply["state"]["ply"] for ply in document["plies"]] == list(range(1, len(document["plies"]) + 1))


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


@pytest.mark.parametrize("command", ["leaderboard", "matches"])
def test_a_game_of_which_there_is_nothing_is_still_a_mistake(folder: Folder, command: str) -> None:
    done = call("arena", command, "--game", "chess", "--data", str(folder.path))
    assert (done.code, done.err[:31]) == (2, "arena: there is no game 'chess'")
