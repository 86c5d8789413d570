"""`scripts/language` finds names and docstrings that break a rule of CONTRIBUTING.md, and only these."""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from commands import REPOSITORY


@pytest.fixture(scope="module")
def language() -> ModuleType:
    loader = SourceFileLoader("language", str(REPOSITORY / "scripts" / "language"))
    spec = spec_from_loader("language", loader)
    assert spec is not None
    module = sys.modules["language"] = module_from_spec(spec)  # its dataclasses look for it there
    loader.exec_module(module)
    return module


def findings(language: ModuleType, folder: Path, **texts: str) -> list[str]:
    """Return the findings in modules with these texts, as `rule: name`."""
    files = []
    for name, text in texts.items():
        files.append(folder / f"{name}.{'js' if name == 'script' else 'py'}")
        files[-1].write_text(text)
    return [f"{found.rule}: {found.text}" for found in language.find_findings(files)]


LIMIT, NOUN, DURATION = "a limit is MAX_… or MIN_…", "a constant is a noun", "a duration ends with its unit"
CLAUSE, FRAGMENT = "a docstring is no free clause", "a docstring is no fragment"
VERB = "a function's docstring starts with a sentence that has a verb"
NAMED = "a parameter is named after its class"
CREW = "class WorkerPool:\n    pass\n\ndef start({}: WorkerPool) -> None:\n    pass\n"


@pytest.mark.parametrize(
    ("bad", "expected", "good"),
    [
        ("MOST_ROWS = 5", f"{LIMIT}: MOST_ROWS", "MAX_ROWS = 5"),
        ("AT_ONCE = 5", f"{NOUN}: AT_ONCE", "BATCH_SIZE = 5"),
        ("KEPT, ROWS = 5, 6", f"{NOUN}: KEPT", "KEPT_ROWS, ROWS = 5, 6"),
        ('WON = "gone"', f"{NOUN}: WON", 'WON = "won"'),
        ("class Phase:\n    OVER = 1", f"{NOUN}: OVER", "class Phase(IntEnum):\n    OVER = 1"),
        ('PAUSE = 2.0\n"""Seconds of rest."""', f"{DURATION}: PAUSE", 'PAUSE_S = 2.0\n"""Seconds of rest."""'),
        ("CHECK_EVERY = 60", f"{DURATION}: CHECK_EVERY", "CHECK_INTERVAL_S = 60"),
        ("SEND_COST_EVERY = 1e-7", f"{DURATION}: SEND_COST_EVERY", "SEND_COST_S_PER_BYTE = 1e-7"),
        ('"""What a bot may have."""', f"{CLAUSE}: rows: What a bot may have.", '"""Limits of a bot."""'),
        (
            'ROWS = 1\n"""Whether a file, which is read, is there."""',
            f"{CLAUSE}: ROWS: Whether a file, which is read, is there.",
            'ROWS = 1\n"""Where a match is void, nothing is rated."""',
        ),
        (
            'ROWS = 1\n"""Where the rows begin."""',
            f"{CLAUSE}: ROWS: Where the rows begin.",
            'ROWS = 1\n"""The index of the first row."""',
        ),
        ('ROWS = 1\n"""Of the game."""', f"{FRAGMENT}: ROWS: Of the game.", 'ROWS = 1\n"""The game\'s rows."""'),
        (
            'def list_rows() -> None:\n    """The rows of it."""',
            f"{VERB}: list_rows: The rows of it.",
            'def list_rows() -> None:\n    """Return its rows."""',
        ),
        (
            'ROWS = 1\n"""Rows, so many."""',
            "an odd word, 'so many': ROWS: Rows, so many.",
            'ROWS = 1\n"""Many rows."""',
        ),
        (
            'ROWS = 1\n"""Rows, at most `MOST`."""',
            "a name in backquotes exists: MOST",
            'ROWS = 1\n"""Rows, at most `ROWS`, or `x - 1` of them."""',
        ),
        (CREW.format("crew"), f"{NAMED}: crew: WorkerPool", CREW.format("pool")),
        (CREW.format("found"), f"{NAMED}: found: WorkerPool", CREW.format("parent")),
    ],
)
def test_what_breaks_a_rule_is_found_and_what_follows_it_is_not(
    language: ModuleType, tmp_path: Path, bad: str, expected: str, good: str
) -> None:
    found = findings(language, tmp_path, rows=bad)
    assert [line.replace(f"{tmp_path}/rows.py", "rows") for line in found] == [expected]
    assert findings(language, tmp_path, rows=good) == []


def test_a_parameter_may_be_named_after_an_ancestor_a_union_or_a_role(language: ModuleType, tmp_path: Path) -> None:
    classes = "class Game: ...\nclass Nim(Game): ...\nclass Ended: ...\nMatchEvent = Nim | Ended\n"
    uses = "from classes import Ended, Nim\ndef play(game: Nim, rules: Nim, event: Ended, {}: Ended) -> None: ..."
    assert findings(language, tmp_path, classes=classes, uses=uses.format("match")) == []
    assert findings(language, tmp_path, classes=classes, uses=uses.format("rules")) == [f"{NAMED}: rules: Ended"]


def test_attributes_count_but_not_fields_that_are_sent_nor_classes_of_other_libraries(
    language: ModuleType, tmp_path: Path
) -> None:
    text = """import asyncio
class Event: ...
class Sent(Struct):
    what: Event
class Runner:
    what: Event
    def __init__(self, event: Event, stop: asyncio.Event) -> None:
        self._kept = event
        self.stop = stop
"""
    assert findings(language, tmp_path, runner=text) == [f"{NAMED}: what: Event", f"{NAMED}: _kept: Event"]


def test_a_class_has_a_name_of_its_own(language: ModuleType, tmp_path: Path) -> None:
    found = findings(language, tmp_path, one="class Nodes: ...", other="class Nodes: ...\nclass _Own: ...")
    assert [line.split(",")[0] for line in found] == ["a class has a name of its own: Nodes"] * 2


def test_constants_in_javascript_are_checked_too(language: ModuleType, tmp_path: Path) -> None:
    text = 'const AT_ONCE = 3;\nexport const MAX_ROWS = 4;\nconst shown = "x";\n'
    assert findings(language, tmp_path, script=text) == [f"{NOUN}: AT_ONCE"]
