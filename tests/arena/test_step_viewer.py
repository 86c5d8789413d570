"""`arena replay show --step` and `--play` on a pseudo-terminal, as a person sits before it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import call
from own_game_records import onecard
from record_rows import bytes_of
from referee.effects import Resignation
from referee_table import Table, header
from terminals import Terminal


@contextlib.contextmanager
def showing(record: Path, *words: str, lines: int = 30, columns: int = 80) -> Iterator[Terminal]:
    terminal = Terminal("replay", "show", str(record), *words, lines=lines, columns=columns)
    try:
        yield terminal
    finally:
        terminal.close()


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A duel on a map: two invasions, then a seat gives up."""
    table = Table("risk-duel", {"preset": "south-america"}).begin()
    for _ in range(2):
        table.play(table.last(table.to_move).legal[0], info={"note": "mine\nis better"})
    table.send(Resignation(0))
    file = tmp_path / "m-1.jsonl.gz"
    file.write_bytes(table.packed())
    return file


def test_a_person_steps_through_a_match_and_back(record: Path) -> None:
    with showing(record, "--step") as terminal:
        first = terminal.until("q quit")
        below = (
            "\nm-1: risk-duel, 0 of 3\nbefore the first move\ns left:  0 ann 60.0  1 bob 60.0\n\nEnter next, b back, "
        )
        assert below in first
        terminal.press("\n")
        second = terminal.until("1 of 3")
        second = terminal.until("q quit")
        assert re.search(r"^0  ann: invade .*, 60\.5 s left, mine\\nis better$", second, re.MULTILINE)
        assert second != first
        terminal.press("b")
        terminal.until("0 of 3")
        assert terminal.until("q quit") == first
        terminal.press("b\x1b[C\x1b[C\x1b[D\r\n")
        last = terminal.until("1. bob")
        assert "2  ann: out: resigned" in last
        assert "2. ann (resigned)" in last
        terminal.press("\n")
        assert terminal.ends() == 0


@pytest.mark.parametrize(("key", "code"), [pytest.param("\x04", 0, marks=pytest.mark.ci), ("\x03", 130)])
def test_a_person_who_has_seen_enough_has_the_terminal_back(record: Path, key: str, code: int) -> None:
    with showing(record, "--step") as terminal:
        terminal.until("q quit")
        terminal.press(key)
        assert terminal.ends() == code
        assert "Traceback" not in terminal.drawn


def test_a_match_of_a_missing_game_is_shown_by_its_states_but_not_as_a_seat_saw_it(tmp_path: Path) -> None:
    file = tmp_path / "m-1.jsonl"
    file.write_bytes(bytes_of(onecard()))
    with showing(file, "--play", "0.01") as terminal:
        shown = terminal.until("2. ")
        assert terminal.ends() == 0
    assert "is_dealt: true" in shown
    assert "2  bob: call, 60.5 s left" in shown
    assert "what that seat saw" not in shown


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A match of six on the map of the world: a draft, then a seat gives up, and another."""
    bots = ("wave", "minimax", "alphabeta", "another-alphabeta", "greedy", "random")
    opening = header("risk-campaign", {"preset": "world"}, bots=bots)
    table = Table(header=opening).begin(bytes(16) for _ in bots)
    table.play(table.last(table.to_move).legal[0])
    for seat in range(1, 6):
        table.send(Resignation(seat))
    file = tmp_path / "m-6.jsonl.gz"
    file.write_bytes(table.packed())
    return file


def test_below_a_board_that_does_not_fit_all_that_happened_is_seen(campaign: Path) -> None:
    with showing(campaign, "--step", lines=24) as terminal:
        terminal.until("the terminal shows 24")
        terminal.press("\n\n")
        terminal.until(", 2 of ")
        title, move, *below = terminal.until("the terminal shows 24").split("\n")[-6:]
    assert title.startswith("m-1: risk-campaign, 2 of ")
    assert move.startswith("1  wave: draft ")
    assert below == [
        "s left:  0 wave 60.5  1 minimax 60.0  2 alphabeta 60.0  3 another-alphabeta 60.0",
        "         4 greedy 60.0  5 random 60.0",
        "",
        "Enter next, b back, q quit (51 lines, the terminal shows 24)",
    ]


def test_a_match_plays_by_itself_to_its_end_also_on_a_terminal_that_does_not_know_its_size(record: Path) -> None:
    with showing(record, "--play", "0.01", lines=0, columns=0) as terminal:
        terminal.until("2. ann (resigned)")
        assert terminal.ends() == 0
        assert terminal.drawn.count("\x1b[2J") == 4


def test_sixty_lines_show_the_world_and_the_end_of_its_match(campaign: Path) -> None:
    with showing(campaign, "--play", "0.01", lines=60) as terminal:
        terminal.until("6. minimax (resigned)")
        assert terminal.ends() == 0
        assert "the terminal shows" not in terminal.drawn


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--step"], "--step needs a terminal for its input and output; --boards prints every board anywhere"),
        (["--play", "1"], "--play needs a terminal for its input and output; --boards prints every board anywhere"),
        (["--play", "0"], "--play 0: seconds for each board, more than 0 and at most 3600"),
        (["--play", "nan"], "--play nan: seconds for each board, more than 0 and at most 3600"),
        (["--step", "--play", "1"], "--step excludes --boards, --json and --play: choose one"),
        (["--play", "1", "--boards"], "--play excludes --boards, --json and --step: choose one"),
    ],
)
def test_what_cannot_be_shown_so_is_one_clear_line(record: Path, words: list[str], says: str) -> None:
    assert call("arena", "replay", "show", str(record), *words) == (2, "", f"arena: {says}\n")


@pytest.fixture
def hand(tmp_path: Path) -> Path:
    """A hand of poker, the first moves of which are checks."""
    table = Table("kuhn", {"hands": 1}).begin().finish_at_random()
    file = tmp_path / "m-k.jsonl.gz"
    file.write_bytes(table.packed())
    return file


def test_a_key_shows_what_a_seat_saw_and_another_all_of_it(hand: Path) -> None:
    with showing(hand, "--step") as terminal:
        whole = re.search(r"^cards: (\w) (\w)$", terminal.until("q quit"), re.MULTILINE)
        assert whole is not None
        terminal.press("1")
        seen = terminal.until("as seat 1 saw it") + terminal.until("a all")
        assert f"cards: ? {whole[2]}" in seen
        terminal.press("0")
        assert f"cards: {whole[1]} ?" in terminal.until("as seat 0 saw it") + terminal.until("a all")
        terminal.press("\n")
        assert f"chance: cards {whole[1]} ?" in terminal.until("1 of 3") + terminal.until("a all")
        terminal.press("a")
        terminal.until(f"chance: cards {whole[1]} {whole[2]}")
        terminal.press("q")
        assert terminal.ends() == 0
