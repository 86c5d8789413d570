"""Plugin for pytest that writes down which statements each test has PostgreSQL run.

It is active where `POSTGRES_STATEMENTS_FOLDER` names the folder for the files, one a process. `postgres_cover.py` reads
them.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from databases import is_repetition
from postgres import TEMPLATE

FOLDER = "POSTGRES_STATEMENTS_FOLDER"


class StatementLog(msgspec.Struct):
    """What one test had PostgreSQL run."""

    test: str
    is_repetition: bool
    executions: int
    statements: list[str]


_VALUE = re.compile(r"%\([^)]*\)s(?:::\w+)?")
_LIST = re.compile(r"\(\?(?:, ?\?)*\)")
_ROWS = re.compile(r"\(\?\)(?:, ?\(\?\))+")
_executions: Counter[str] = Counter()


@event.listens_for(Engine, "before_cursor_execute")
def _note(connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
    if connection.dialect.name == "postgresql" and connection.engine.url.database != TEMPLATE:
        _executions[normalized(statement)] += 1


def normalized(statement: str) -> str:
    """Return a statement without the names and the number of its values: lists of any length are the same."""
    return _ROWS.sub("(?)", _LIST.sub("(?)", _VALUE.sub("?", statement)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _executions.clear()
    result = yield
    if _executions:
        folder = Path(os.environ[FOLDER])
        folder.mkdir(parents=True, exist_ok=True)
        log = StatementLog(
            test=item.nodeid,
            is_repetition=is_repetition(item),
            executions=_executions.total(),
            statements=sorted(_executions),
        )
        with (folder / f"{os.getpid()}.jsonl").open("ab") as file:
            file.write(msgspec.json.encode(log) + b"\n")
    return result
