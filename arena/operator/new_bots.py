"""New bots and their tokens: checks that the bots' names are free, and makes the list to hand out."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Self

from arena.operator.changes import Register
from arena.operator.name_list import DISPLAY_COLUMN, NAME_COLUMN, NameList, mistakes_fault
from arena.store.registry import RegisteredBot
from arena.store.tokens import generate_token, hash_token
from protocol.display import csv_cell
from protocol.display_names import (
    describe_invalid_bot_name,
    describe_taken_display_name,
    fold_display_name,
    iter_candidate_names,
    nearest_bot_name,
    normalize_display,
)
from protocol.errors import UsageFault
from protocol.names import fold_name, is_bot_name

CREDENTIAL_COLUMN = "token"
"""The name of the column with the new tokens in the list to hand out."""
FORBIDDEN_COLUMNS = {CREDENTIAL_COLUMN: "tokens are made here"}
"""Columns that a list of new names may not have, each with the reason."""


class NewBots(NamedTuple):
    """New bots that can be registered: a list of their names, and a token for each name."""

    name_list: NameList
    tokens: dict[str, str]
    notes: Sequence[str] = ()
    """Notes for the operator, a sentence about each display name that several new bots share."""

    @classmethod
    def make(cls, name_list: NameList, source: str, registered_bots: Iterable[RegisteredBot]) -> Self:
        """Make a token for each name in a list.

        Raise `UsageFault` if a name can't be registered; its message has a line for each such name. With a `source`,
        the line begins with it and the name's line number in it.
        """
        _check_names(name_list, source, list(registered_bots))
        tokens = {row[NAME_COLUMN]: generate_token() for row in name_list.rows}
        return cls(name_list, tokens, [*_namesakes(name_list, source)])

    @property
    def request(self) -> Register:
        """The request that registers the bots."""
        hashes = {name: hash_token(token) for name, token in self.tokens.items()}
        return Register(hashes=hashes, displays=self.displays)

    @property
    def displays(self) -> dict[str, str]:
        """The display names by the names of the bots. Bots without a display name are left out."""
        return {
            row[NAME_COLUMN]: normalize_display(row[DISPLAY_COLUMN])
            for row in self.name_list.rows
            if row.get(DISPLAY_COLUMN)
        }

    def to_csv(self) -> str:
        """Return the list with a column of tokens as CSV. Cells that a spreadsheet would evaluate are escaped."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=self.name_list.delimiter, lineterminator="\n")
        rows = [[*row.values(), self.tokens[row[NAME_COLUMN]]] for row in self.name_list.rows]
        writer.writerows(map(csv_cell, row) for row in [[*self.name_list.columns, CREDENTIAL_COLUMN], *rows])
        return text.getvalue()


def make_name_list(names: Sequence[str], display: str | None = None) -> NameList:
    """Return a list of names that were given one by one instead of in a file. A single name may have a display name."""
    if display is None:
        return NameList([NAME_COLUMN], [{NAME_COLUMN: name} for name in names], [0] * len(names))
    if len(names) != 1:
        raise UsageFault("--display goes with one name: for several write a list with a column display, and --from")
    return NameList([NAME_COLUMN, DISPLAY_COLUMN], [{NAME_COLUMN: names[0], DISPLAY_COLUMN: display}], [0])


def with_bot_names(listed: NameList, known: Iterable[RegisteredBot]) -> NameList:
    """Return the list with every name that is no valid bot name replaced by the nearest free bot name.

    The replaced name becomes the display name, unless the row has one. A name is not replaced if it has no letter that
    a bot name may have, or if a registered bot already has the display name that the row would get.
    """
    known = list(known)
    shown = _shown(known)
    taken = _taken(known) | {fold_name(row[NAME_COLUMN]) for row in listed.rows if is_bot_name(row[NAME_COLUMN])}
    rows = []
    for row in listed.rows:
        name, near = row[NAME_COLUMN], nearest_bot_name(row[NAME_COLUMN])
        if not is_bot_name(name) and near and _display(row) not in shown:
            free = next(one for one in iter_candidate_names(near) if fold_name(one) not in taken)
            taken.add(fold_name(free))
            row = {**row, NAME_COLUMN: free, DISPLAY_COLUMN: row.get(DISPLAY_COLUMN) or name}
        rows.append(row)
    if DISPLAY_COLUMN in listed.rows[0]:
        return listed._replace(rows=rows)
    columns = [*listed.columns, DISPLAY_COLUMN]
    return listed._replace(columns=columns, rows=[{**row, DISPLAY_COLUMN: row.get(DISPLAY_COLUMN, "")} for row in rows])


def _taken(known: Iterable[RegisteredBot]) -> set[str]:
    """Return the case-folded names that no new bot can have."""
    return {fold_name(bot.name) for bot in known if bot.token_hash or bot.revoked}


def _shown(known: Iterable[RegisteredBot]) -> dict[str, str]:
    """Return the names of the registered bots that have a display name, by folded display name."""
    owned = (bot for bot in known if bot.token_hash or bot.revoked)
    return {fold_display_name(bot.display): bot.name for bot in owned if bot.display is not None}


def _display(row: Mapping[str, str]) -> str:
    """Return the folded display name that a row in a list of names has or may get; an empty text if there is none.

    A row without a display name may get one if its name is not a valid bot name: `with_bot_names` makes that name the
    display name.
    """
    return fold_display_name(row.get(DISPLAY_COLUMN) or ("" if is_bot_name(row[NAME_COLUMN]) else row[NAME_COLUMN]))


def _namesakes(listed: NameList, source: str) -> Iterator[str]:
    """Yield a sentence for each new bot that has the same display name as a bot above it in the list."""
    first: dict[str, str] = {}
    for row, line in zip(listed.rows, listed.lines, strict=True):
        name = row[NAME_COLUMN]
        if not (key := _display(row)):
            continue
        if key in first:
            where = f"{source}, line {line}: " if source else ""
            yield f"{where}{name} is shown as {row[DISPLAY_COLUMN]}, as {first[key]} is: give one another display name"
        first.setdefault(key, name)


def _check_names(listed: NameList, source: str, known: Sequence[RegisteredBot]) -> None:
    first: dict[str, int] = {}
    taken, shown = _taken(known), _shown(known)
    persons: dict[str, int] = {}
    wrong = []
    proposed = with_bot_names(listed, known).rows
    for row, line, better in zip(listed.rows, listed.lines, proposed, strict=True):
        name, where = row[NAME_COLUMN], f"{source}, line {line}: " if source else ""
        key = fold_name(name)
        person = _display(row)
        if person in shown and fold_name(shown[person]) != key:
            wrong.append(f"{where}{describe_taken_display_name(row.get(DISPLAY_COLUMN) or name, shown[person], shown)}")
        elif not is_bot_name(name):
            told = describe_invalid_bot_name(name, better[NAME_COLUMN]) if name else "there is no name"
            again = f"; line {persons[person]} is called so too" if source and person in persons else ""
            wrong.append(f"{where}{told}{again}")
        elif key in first:
            wrong.append(f"{where}{name} is there twice" + (f", first in line {first[key]}" if source else ""))
        elif key in taken:
            wrong.append(f"{where}a bot is called {name} already: choose another name, or `arena bot rotate {name}`")
        first.setdefault(key, line)
        if person:
            persons.setdefault(person, line)
        if row.get(DISPLAY_COLUMN):
            try:
                normalize_display(row[DISPLAY_COLUMN])
            except UsageFault as fault:
                wrong.append(f"{where}{fault}")
    if wrong:
        raise mistakes_fault(wrong)
