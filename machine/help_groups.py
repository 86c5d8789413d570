"""Commands whose help shows options and commands in groups, by the `rich_help_panel` of each, as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

OPTIONS_HEADING = "Options"
"""The heading of arguments and options without a group."""


class GroupedCommand(TyperCommand):
    """A command whose help shows its options in groups. Options without a group come last."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_options(self, ctx, formatter)


class CommandGroup(TyperGroup):
    """A group of commands whose help shows the commands under headings. The `headings` come first, in their order."""

    headings: Sequence[str] = ()

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.format_commands(ctx, formatter)
        _write_options(self, ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each heading. Columns have the same width in all sections."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        width = max((len(name) for name, _ in commands), default=0)
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in self.headings}
        for name, command in commands:
            if command is not None and not command.hidden:
                text = command.get_short_help_str(formatter.width - 4 - width)
                sections.setdefault(_heading(command, "Commands"), []).append((name.ljust(width), text))
        for heading, rows in sections.items():
            if not rows:
                continue
            with formatter.section(heading):
                formatter.write_dl(rows)


def command_group(headings: Sequence[str]) -> type[CommandGroup]:
    """Return a class of command groups whose help lists the commands under these headings, in this order."""
    return type("Commands", (CommandGroup,), {"headings": headings})


def _heading(item: Any, default: str) -> str:
    heading = getattr(item, "rich_help_panel", None)
    return heading if isinstance(heading, str) else default


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        if (row := parameter.get_help_record(ctx)) is not None:
            default = "Arguments" if parameter.param_type_name == "argument" else OPTIONS_HEADING
            sections.setdefault(_heading(parameter, default), []).append(row)
    last = sections.pop(OPTIONS_HEADING, None)
    for heading, rows in [*sections.items(), *([(OPTIONS_HEADING, last)] if last else [])]:
        with formatter.section(heading):
            formatter.write_dl(rows)
