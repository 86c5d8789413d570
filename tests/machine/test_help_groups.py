"""The help of commands in groups: of both programs, and of the command with most options."""

from __future__ import annotations

import pytest

from arena.commands.settings import SETTING_GROUPS, SETTINGS
from commands import call


@pytest.mark.parametrize(
    ("program", "commands"),
    [("arena", ("try", "test", "tournament", "serve")), ("arena-bot", ("run", "tune", "solve"))],
)
def test_help_has_the_commands_under_headings_by_who_uses_them(program: str, commands: tuple[str, ...]) -> None:
    lines = call(program, "--help").out.splitlines()
    headings = [number for number, line in enumerate(lines) if line.startswith("Commands for ")]
    first = [lines.index(line) for name in commands for line in lines if line.startswith(f"  {name} ")]
    assert len(headings) == len(commands)
    assert all(heading < row for heading, row in zip(headings, first, strict=True))
    assert first == sorted(first)


def test_help_has_every_setting_under_one_heading() -> None:
    grouped = [name for names in SETTING_GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(SETTINGS)
    shown = call("arena", "serve", "--help", COLUMNS="80").out.splitlines()
    headings = [line[:-1] for line in shown if line.endswith(":") and line[0] != " "]
    assert headings == [*SETTING_GROUPS, "Options"]
    assert max(map(len, shown)) <= 80
