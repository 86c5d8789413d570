"""What rich draws, tables and bars: they move cursors and set colours, and no text in them does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich import console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from protocol.display import printable


class Console(console.Console):  # noqa: TID251
    """Rich's, to which no text is markup, and which shows as escapes what a terminal would obey in it, or not show."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, highlight=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable(segment.text, lines=True), segment.style)
