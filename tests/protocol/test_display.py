"""Strangers' text, shown: nothing in it moves a cursor, and nothing of it is lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.display import csv_cell, escape_unprintable, printable_json


@pytest.mark.parametrize(
    ("text", "shows"),
    [
        ("Åsa – 石 ♟", "Åsa – 石 ♟"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("a\x9b31m", "a\\x9b31m"),
        ("\u202eabc\u200b", "\\u202eabc\\u200b"),
        ("two\nlines", "two\\nlines"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_what_a_terminal_would_obey_is_spelled_out(text: str, shows: str) -> None:
    assert escape_unprintable(text) == shows


def test_lines_stay_lines_where_they_are_wanted() -> None:
    assert escape_unprintable("one\ntwo\r\x1b", lines=True) == "one\ntwo\\r\\x1b"


@given(st.text())
def test_whatever_is_shown_is_printable(text: str) -> None:
    assert escape_unprintable(text).isprintable()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_printable_json_says_the_same_to_a_program_and_nothing_to_a_terminal(text: str) -> None:
    document = printable_json(json.dumps({"text": text}, ensure_ascii=False))
    assert document.isprintable()
    assert json.loads(document) == {"text": text}


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠A1", "-", "-x"]
)
def test_what_a_spreadsheet_would_compute_is_text_to_it(text: str) -> None:
    assert csv_cell(text) == f"'{text}"


@pytest.mark.parametrize(
    "text", ["", "-1", "+1.5", "-2e-05", "1+1", "ann", '{"heap":0}', "2026-01-01T00:00:00Z", "a=1"]
)
def test_what_is_a_number_or_no_formula_stays_what_it_is(text: str) -> None:
    assert csv_cell(text) == text


@given(st.text(), st.sampled_from(["", "'", "=", "-1"]))
def test_one_apostrophe_taken_away_gives_the_text_again(text: str, before: str) -> None:
    assert csv_cell(before + text).removeprefix("'") == before + text
