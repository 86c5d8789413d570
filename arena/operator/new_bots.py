"""New bots and their tokens: checks that their names are free, and writes the list to hand out."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from arena.operator.changes import Register
from arena.operator.name_list import NAME, NameList
from arena.store.registry import RegisteredBot
from arena.store.tokens import hash_token, new_token
from protocol.display import csv_cell
from protocol.errors import UsageFault
from protocol.names import NAME_FORM, folded, is_bot_name

GIVEN = "token"
"""The column with the new tokens."""
REFUSED = {GIVEN: "tokens are made here"}
"""Columns that a list of new names may not have, with the reasons."""


class NewBots(NamedTuple):
    """A list of names that can be registered, with a token for each."""

    listed: NameList
    tokens: dict[str, str]

    @classmethod
    def of(cls, listed: NameList, source: str, known: Iterable[RegisteredBot]) -> Self:
        """Make a token for each name. Raise `UsageFault` with a line for each name that can't be registered.

        Each line begins with the `source` and the line number, if there is a source.
        """
        _check(listed, source, {folded(bot.name) for bot in known if bot.token_hash or bot.revoked})
        return cls(listed, {row[NAME]: new_token() for row in listed.rows})

    @property
    def request(self) -> Register:
        """The request that registers the bots."""
        return Register(hashes={name: hash_token(token) for name, token in self.tokens.items()})

    def document(self) -> str:
        """Return the rows with their tokens as CSV. Cells that a spreadsheet would evaluate are escaped."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=self.listed.delimiter, lineterminator="\n")
        rows = [[*row.values(), self.tokens[row[NAME]]] for row in self.listed.rows]
        writer.writerows(map(csv_cell, row) for row in [[*self.listed.columns, GIVEN], *rows])
        return text.getvalue()


def names_alone(names: Sequence[str]) -> NameList:
    """Return a list with nothing but names."""
    return NameList([NAME], [{NAME: name} for name in names], [0] * len(names))


def _check(listed: NameList, source: str, taken: set[str]) -> None:
    first: dict[str, int] = {}
    wrong = []
    for row, line in zip(listed.rows, listed.lines, strict=True):
        name, where = row[NAME], f"{source}, line {line}: " if source else ""
        key = folded(name)
        if not is_bot_name(name):
            wrong.append(f"{where}{name!r} is no name for a bot: {NAME_FORM}")
        elif key in first:
            wrong.append(f"{where}{name} is there twice" + (f", first in line {first[key]}" if source else ""))
        elif key in taken:
            wrong.append(f"{where}a bot is called {name} already: choose another name, or `arena bot rotate {name}`")
        first.setdefault(key, line)
    if wrong:
        raise UsageFault("\n".join(wrong))
