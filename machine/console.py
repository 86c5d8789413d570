"""Rich tables and progress bars for terminals, in which no text can send control codes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich import console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from protocol.display import escape_unprintable


class Console(console.Console):  # noqa: TID251
    """A rich console that treats no text as markup and prints control and invisible characters as escapes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, highlight=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(escape_unprintable(segment.text, lines=True), segment.style)
