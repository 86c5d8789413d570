"""What an operator elsewhere may order: built-in bots, and names that are no paths; and what a runner may report."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from msgspec import ValidationError, convert, to_builtins

from arena.operator.hosted_matches import MatchOrder
from arena.runs import hosted_players
from arena.runs.contestants import parse_builtin_contestants
from arena.runs.hosted_players import unpack_report
from hosted_orders import ORDER, played_at_once
from protocol.errors import ArenaFault, UsageFault


@pytest.mark.parametrize("word", ["uct:x.py", "a=uct:x.py", "uct:x.py:Bot", "uct:x.py:sims=5", "level:x.py"])
def test_a_file_is_no_builtin_bot_whatever_its_name_begins_with(word: str) -> None:
    with pytest.raises(UsageFault, match="there is no built-in bot"):
        parse_builtin_contestants([word])


@pytest.mark.parametrize("seat", [{"bot": "../../ann"}, {"bot": "a/b"}, {"bot": ""}, {"bot": "ann", "number": -1}])
def test_the_bots_of_an_order_name_no_paths(seat: dict[str, Any]) -> None:
    order = to_builtins(ORDER)
    assert convert(order, MatchOrder) == ORDER
    with pytest.raises(ValidationError):
        convert({**order, "seats": [order["seats"][0] | seat]}, MatchOrder)


def test_the_report_of_a_match_is_unpacked_within_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    report = played_at_once(ORDER)
    assert unpack_report(report, ORDER.match).closed.result.match == ORDER.match
    monkeypatch.setattr(hosted_players, "MAX_UNPACKED_REPORT_BYTES", len(gzip.decompress(report)) - 1)
    for wrong in (report, report[:-20]):
        with pytest.raises(ArenaFault, match="a report of the match t1-00000 that is cut off, or too large"):
            unpack_report(wrong, ORDER.match)
    with pytest.raises(ArenaFault, match="unreadable report"):
        unpack_report(b"none", ORDER.match)
