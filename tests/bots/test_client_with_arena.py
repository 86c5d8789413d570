"""The client against the real server: bots as processes, as their authors start them."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bots.playing.matches import play_all
from players import player
from processes import run_command

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "docs" / "examples"
Play = Callable[..., Awaitable[tuple[int, str, str]]]


@pytest.fixture
def play(port: int, tmp_path: Path) -> Play:
    """Run a program beside the arena: its exit code and what it printed."""

    async def run(*command: str) -> tuple[int, str, str]:
        end = await run_command(*command, folder=tmp_path, ARENA_URL=f"ws://127.0.0.1:{port}")
        return end.code, end.output.decode(), end.errors.decode()

    return run


def program(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


async def test_two_bots_of_five_lines_play_rated_matches(play: Play) -> None:
    mine = [sys.executable, str(EXAMPLES / "mine.py"), "--game", "nim", "--slots", "4", "--matches", "6"]
    one, other = await asyncio.gather(play(*mine), play(*mine, "--name", "yours"))
    assert (one[0], one[2], other[0], other[2]) == (0, "", 0, "")
    results = one[1].splitlines()[1:]
    assert len(results) == 6
    line = r"mine: (won|lost) [a-z0-9-]+ against yours, rating [\d.]+ ± [\d.]+ -> [\d.]+ ± [\d.]+"
    assert all(re.fullmatch(line, result) for result in results)


async def test_a_strike_and_a_crash_are_told_and_the_bot_plays_on(play: Play, tmp_path: Path) -> None:
    odd = program(
        tmp_path,
        "odd.py",
        "from bots import Bot, run\n"
        "class Odd(Bot):\n"
        "    def choose(self, turn):\n"
        "        if 'struck' not in turn.memory:\n"
        "            turn.memory['struck'] = True\n"
        "            return {'heap': 0, 'take': 9}\n"
        "        return turn.legal['first']\n"
        "run(Odd('odd'), game='nim')\n",
    )
    mine = [sys.executable, str(EXAMPLES / "mine.py"), "--game", "nim", "--matches", "2"]
    (code, out, err), other = await asyncio.gather(play(sys.executable, odd, "--matches", "2"), play(*mine))
    assert (code, other[0], other[2]) == (0, 0, "")
    failed = "(raised TypeError: list indices must be integers or slices, not str, in odd.py line 7)"
    assert out.count(failed) == 2
    assert other[1].count("(the program of odd failed)") == 2
    assert re.search(r'odd: move {"heap": 0, "take": 9} rejected at ply \d of \S+: .* \(2 strikes left\)', err)
    assert err.count("TypeError: list indices must be integers or slices, not str") == 2


async def test_a_new_version_plays_an_old_one_as_the_document_says(play: Play, tmp_path: Path) -> None:
    text = (REPOSITORY / "docs" / "writing-a-bot.md").read_text()
    (block,) = re.findall(r"### Your old version against your new one\n.*?```\n(.*?)```", text, re.DOTALL)
    copy, command = (line.split() for line in block.splitlines())
    old, new = (program(tmp_path, name, (EXAMPLES / "mine.py").read_text()) for name in (copy[2], copy[1]))
    words = [{copy[2]: old, copy[1]: new}.get(word, word) for word in command[1:]]
    code, out, err = await play(sys.executable, *words, "--matches", "4")
    assert code == 0, err
    assert "after 4 games" in out


async def test_a_typo_costs_three_matches_and_one_traceback(play: Play, tmp_path: Path) -> None:
    text = (EXAMPLES / "mine.py").read_text().replace("turn.legal", "turn.legl").replace('"mine"', '"typo"')
    mine = [sys.executable, str(EXAMPLES / "mine.py"), "--game", "nim", "--matches", "3"]
    typo = [sys.executable, program(tmp_path, "typo.py", text), "--game", "nim"]
    (code, out, err), other = await asyncio.gather(play(*typo), play(*mine))
    assert (code, other[0]) == (1, 0)
    assert out.count("typo: lost") == 3
    assert err.count("Traceback") == 1
    assert err.count(" as before: raised AttributeError: ") == 2
    assert err.endswith("typo: the bot stops, because its program failed in 3 matches in a row\n")


async def test_a_name_is_its_owners(play: Play, port: int) -> None:
    mine = [sys.executable, str(EXAMPLES / "mine.py"), "--game", "nim", "--matches", "1"]
    async with player(f"ws://127.0.0.1:{port}", "mine"):
        """Registers the name."""
    code, out, err = await play(*mine, "--token", "not-the-token-of-mine")
    assert (code, out) == (1, "")
    assert err == (
        "mine: mine is taken here, not by this token; choose another name, or give its token (auth_failed); "
        "choose another name with --name, or give the token with --token or ARENA_TOKEN\n"
    )


async def test_a_person_without_input_gives_up_and_leaves(play: Play) -> None:
    human = [sys.executable, "-m", "bots", "run", "human", "--game", "tictactoe"]
    mine = [sys.executable, str(EXAMPLES / "mine.py"), "--game", "tictactoe", "--matches", "1"]
    (code, out, err), other = await asyncio.gather(play(*human), play(*mine))
    assert (code, err, other[0]) == (0, "", 0)
    assert "you resign" in out
    assert "human: lost" in out


def test_the_bot_of_the_documents_is_the_one_in_the_examples() -> None:
    text = (REPOSITORY / "docs" / "writing-a-bot.md").read_text()
    assert f"```python\n{(EXAMPLES / 'mine.py').read_text()}```" in text


def listed(cls: str) -> str:
    """The program of docs/writing-a-bot.md that has a class of this name."""
    text = (REPOSITORY / "docs" / "writing-a-bot.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    (found,) = [block for block in blocks if f"class {cls}(" in block]
    return str(found)


@pytest.mark.ci
async def test_the_second_bot_of_the_documents_plays(play: Play, tmp_path: Path) -> None:
    ahead = [sys.executable, program(tmp_path, "ahead.py", listed("OneAhead")), "--game", "tictactoe", "--matches", "2"]
    mine = [sys.executable, str(EXAMPLES / "mine.py"), "--game", "tictactoe", "--matches", "2"]
    one, other = await asyncio.gather(play(*ahead), play(*mine))
    assert (one[0], one[2], other[0], other[2]) == (0, "", 0, "")


@pytest.mark.ci
async def test_the_bot_of_the_documents_for_the_campaign_beats_the_proposed_moves(play: Play, tmp_path: Path) -> None:
    bold = [sys.executable, program(tmp_path, "bold.py", listed("Bold")), "--game", "risk-campaign", "--matches", "2"]
    mine = [sys.executable, str(EXAMPLES / "mine.py"), "--game", "risk-campaign", "--matches", "2"]
    one, other = await asyncio.gather(play(*bold), play(*mine))
    assert (one[0], one[2], other[0], other[2]) == (0, "", 0, "")
    assert len(re.findall("^bold: won", one[1], re.MULTILINE)) == 2


@pytest.mark.parametrize(("cls", "game"), [("OneAhead", "tictactoe"), ("Bold", "risk-campaign")])
def test_the_further_bots_of_the_documents_play_in_process(cls: str, game: str, tmp_path: Path) -> None:
    mine = program(tmp_path, "listed.py", listed(cls))
    (played,) = play_all([mine, str(EXAMPLES / "mine.py")], game, [1], raises=True)
    assert played.result.reason in ("win", "draw")
    assert played.points[0] == 1 or game == "tictactoe"
