"""What `arena tournament` tells in the end: the tables it prints and the file it writes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from arena.commands.documents import document
from arena.commands.tables import counted
from arena.ratings.standings import TableRow, head_to_head, table, unbeaten
from arena.tournament.plan import Plan
from machine.writing import in_place_of
from protocol.errors import ArenaFault
from referee.result import Result

WIDEST_CROSS_TABLE = 8


class Report:
    """A tournament's results and the tables made of them."""

    def __init__(self, plan: Plan, results: Sequence[Result]) -> None:
        self._plan = plan
        self._results = results
        self._rows = table(plan.names, results)
        self._cross = head_to_head(plan.names, results)

    def write(self, file: Path, arguments: Mapping[str, Any]) -> None:
        """Write everything as JSON, whole or not at all. Raises `ArenaFault`."""
        content = {
            "tournament": self._plan.id,
            "seed": self._plan.seed,
            "arguments": arguments,
            "table": self._rows,
            "head_to_head": self._cross,
            "matches": self._results,
        }
        try:
            with in_place_of(file) as temporary:
                temporary.write_bytes(document(content))
        except OSError as exc:
            raise ArenaFault(f"{file} can't be written: {exc.strerror}") from exc

    def show(self, data: Path) -> None:
        """Print the tables, and whose words in the data folder are worth reading."""
        plan, results = self._plan, self._results
        console = Console(width=None if sys.stdout.isatty() else 80)
        reasons = ", ".join(f"{reason} {times}" for reason, times in Counter(r.reason for r in results).most_common())
        played = counted(len(results), "match", "matches")
        console.print(f"{plan.rules.name} {plan.format}, {played} ({reasons})\nseed {plan.seed}, id {plan.id}")
        if plan.pool is None:
            console.print("not rated: no preset has this config")
        console.print(_standing(self._rows))
        if 2 < len(self._rows) <= WIDEST_CROSS_TABLE:
            console.print("\nshare of points, row against column")
            console.print(_cross_table([row.bot for row in self._rows], self._cross))
        for bot, lost in unbeaten(plan.names, results).items():
            if lost:
                why = ", ".join(f"{reason} {times}" for reason, times in lost.most_common())
                many = counted(lost.total(), "match", "matches")
                console.print(f"\n{bot}: {many} lost without being beaten ({why}); its words:")
                for log in plan.words(data, bot):
                    console.print(f"  {log}", markup=False, soft_wrap=True)


def _standing(rows: Sequence[TableRow]) -> Table:
    standing = Table(box=None, pad_edge=False)
    for column in ("#", "bot", "played", "won", "drawn", "lost", "score", "95 %", "forfeits"):
        standing.add_column(column, justify="left" if column == "bot" else "right", no_wrap=True)
    for row in rows:
        between = f"{row.low:.3f}-{row.high:.3f}"
        cells = (row.rank, row.bot, row.played, row.won, row.drawn, row.lost, f"{row.score:.3f}", between, row.forfeits)
        standing.add_row(*map(str, cells))
    return standing


def _cross_table(names: Sequence[str], cross: Mapping[str, Mapping[str, float | None]]) -> Table:
    shown = Table(box=None, pad_edge=False)
    shown.add_column("")
    for name in names:
        shown.add_column(name if len(name) <= 9 else name[:8] + "…", justify="right", no_wrap=True)
    for name in names:
        shares = [cross[name].get(other) for other in names]
        shown.add_row(name, *("" if share is None else f"{share:.2f}" for share in shares))
    return shown
