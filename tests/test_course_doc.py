"""docs/course.md: its commands are commands that there are, with options that they have."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from arena.builtin_bots import parse_builtin_bots
from arena.cli import app
from processes import REPOSITORY

TEXT = (REPOSITORY / "docs" / "course.md").read_text()
BLOCKS = "".join(
    block for form, block in re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE) if not form
)
TABLE = re.findall(r"`(arena [^`]+)`", "".join(line for line in TEXT.splitlines(keepends=True) if line.startswith("|")))
LINES = [*BLOCKS.replace("\\\n", " ").splitlines(), *TABLE]
FOUND = [re.match(r"(?:runuser .* -- )?(?:venv/bin/)?arena (.*)", line) for line in LINES]
COMMANDS = [shlex.split(re.sub(r"\$\(.*?\)|[>#].*", "", found[1])) for found in FOUND if found]
COMMAND = typer.main.get_command(app)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_of_the_course_is_understood(words: list[str]) -> None:
    command: Any = COMMAND
    context = None
    while hasattr(command, "commands"):
        context = command.make_context(command.name, [], parent=context, resilient_parsing=True)
        command, words = command.commands[words[0]], words[1:]
    assert command.make_context(command.name, words, parent=context).args == []


def test_the_course_has_its_commands() -> None:
    assert len(COMMANDS) > 25


def test_whom_the_lessons_play_by_name_is_a_built_in_bot_of_every_server_of_the_course() -> None:
    houses = [
        {bot.name for bot in parse_builtin_bots(words)} for words in re.findall(r"--builtin-bots (\S+?)[`\s]", TEXT)
    ]
    opponents = set(re.findall(r"--opponent (\S+)", TEXT))
    assert len(houses) == 3
    assert "random" in opponents
    assert [opponents - house for house in houses] == [set()] * 3


@pytest.mark.parametrize(
    "file", [*sorted((REPOSITORY / "docs").glob("*.md")), REPOSITORY / "README.md"], ids=lambda file: file.name
)
def test_whom_a_document_plays_by_name_is_started_there(file: Path) -> None:
    text = re.sub(r"arena replay .*", "", file.read_text())
    started = set(re.findall(r"arena-bot run (\S+)", text))
    for words in re.findall(r"arena serve [^`\n]*--builtin-bots (\S+?)[`\s]", text):
        started |= {bot.name for bot in parse_builtin_bots(words)}
    assert set(re.findall(r"--opponent ([a-z][\w:-]*)", text)) <= started
