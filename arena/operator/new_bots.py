"""New bots, with tokens that are made for them: whether their names can be registered, and the list to be given out."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from arena.operator.changes import Register
from arena.operator.name_list import NAME, NameList, mistakes_fault
from arena.store.registry import RegisteredBot
from arena.store.tokens import hash_token, new_token
from protocol.display import csv_cell, shown
from protocol.names import NAME_FORM, folded, is_bot_name

GIVEN = "token"
"""The column that is written."""
REFUSED = {GIVEN: "tokens are made here"}
"""Columns that a list of new names may not have."""


class NewBots(NamedTuple):
    """A list of names that can be registered, and a token for each."""

    listed: NameList
    tokens: dict[str, str]

    @classmethod
    def of(cls, listed: NameList, source: str, known: Iterable[RegisteredBot]) -> Self:
        """With tokens that are made now. Raises `UsageFault` with a line for each name that can't be registered; it
        begins with the `source` and the line there, where there is one.
        """
        _check(listed, source, {folded(bot.name) for bot in known if bot.token_hash or bot.revoked})
        return cls(listed, {row[NAME]: new_token() for row in listed.rows})

    @property
    def request(self) -> Register:
        """What registers them."""
        return Register(hashes={name: hash_token(token) for name, token in self.tokens.items()})

    def document(self) -> str:
        """The rows as they came, with the tokens, as CSV; what a spreadsheet would compute is kept from it."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=self.listed.delimiter, lineterminator="\n")
        rows = [[*row.values(), self.tokens[row[NAME]]] for row in self.listed.rows]
        writer.writerows(map(csv_cell, row) for row in [[*self.listed.columns, GIVEN], *rows])
        return text.getvalue()


def names_alone(names: Sequence[str]) -> NameList:
    """A list of nothing but names, in no file."""
    return NameList([NAME], [{NAME: name} for name in names], [0] * len(names))


def _check(listed: NameList, source: str, taken: set[str]) -> None:
    first: dict[str, int] = {}
    wrong = []
    for row, line in zip(listed.rows, listed.lines, strict=True):
        name, where = row[NAME], f"{source}, line {line}: " if source else ""
        key = folded(name)
        if not is_bot_name(name):
            wrong.append(f"{where}{shown(name)} is no name for a bot: {NAME_FORM}")
        elif key in first:
            wrong.append(f"{where}{name} is there twice" + (f", first in line {first[key]}" if source else ""))
        elif key in taken:
            wrong.append(f"{where}a bot is called {name} already: choose another name, or `arena bot rotate {name}`")
        first.setdefault(key, line)
    if wrong:
        raise mistakes_fault(wrong)
