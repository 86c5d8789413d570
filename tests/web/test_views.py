"""Matches in the browser as a seat saw them, or a spectator, against the views of the rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from arena.replay.match_document import make_document
from golden import make
from golden.make import Golden
from protocol.games import load_game
from protocol.messages import Event
from referee import record_reader

Map = dict[str, Any]
Viewing = Callable[[Map, int | str], Map]
SEE = """async (load, document, eye) => {
  const { loadBoards } = await load("board/index.js");
  const { MatchDocument } = await load("viewer/document.js");
  await loadBoards(document.header.game);
  const match = new MatchDocument(document);
  match.see(eye);
  const { isHidden, start, plies, strikes, record } = match;
  return { isHidden, start, plies, strikes, record };
}"""
EYES: list[tuple[int | str, int | None]] = [(0, 0), (1, 1), ("spectators", None)]
HIDDEN = {
    "noisy": Golden("dilemma", {"rounds": 20, "noise": "0.3"}),
    "kuhn": Golden("kuhn", {"hands": 20}),
    "leduc": Golden("leduc", {"hands": 20}, leaves=50),
}
OPEN = {"dilemma": Golden("dilemma", {"preset": "prison", "rounds": 5}), "nim": Golden("nim", {})}


@pytest.fixture
def viewed(scripts: Callable[..., Any]) -> Viewing:
    return partial(scripts, SEE)


def made(name: str, golden: Golden) -> Map:
    found = make_document(record_reader.read_record(make.make(name, golden), name))
    match: Map = json.loads(msgspec.json.encode(found))
    return match


@pytest.mark.parametrize(("eye", "seat"), EYES, ids=[str(eye) for eye, _ in EYES])
@pytest.mark.parametrize("name", HIDDEN)
def test_each_sees_of_every_state_and_event_what_the_rules_say(
    viewed: Viewing, name: str, eye: int | str, seat: int | None
) -> None:
    match = made(name, HIDDEN[name])
    game = load_game(match["header"]["game"], match["header"]["config"])
    told = viewed(match, eye)
    assert told["isHidden"]
    assert told["start"] == game.view(match["start"], seat)
    for line, whole in zip(told["plies"], match["plies"], strict=True):
        assert line["state"] == game.view(whole["state"], seat)
        event = game.view_event(msgspec.convert(whole["event"], Event), seat)
        assert line["event"] == json.loads(msgspec.json.encode(event))
        assert (line["clock"], line["digest"]) == (whole["clock"], whole["digest"])
    assert told["plies"] != match["plies"]


@pytest.mark.parametrize(("eye", "seat"), EYES, ids=[str(eye) for eye, _ in EYES])
def test_nobody_is_told_what_others_thought_or_were_refused(viewed: Viewing, eye: int | str, seat: int | None) -> None:
    kuhn, noisy = (made(name, HIDDEN[name]) for name in ("kuhn", "noisy"))
    for line in kuhn["plies"]:
        line["info"] = {"note": "I have the king"}
    kuhn["strikes"] = [
        {"ply": 1, "seat": at, "code": "illegal_move", "message": f"seat {at} has no such move"} for at in (0, 1)
    ]
    told = viewed(kuhn, eye)
    assert [line.get("info") for line in told["plies"]] == [
        line["info"] if seat is not None and line["event"]["seat"] == seat else None for line in kuhn["plies"]
    ]
    assert [strike["seat"] for strike in told["strikes"]] == [at for at in (0, 1) if at == seat]
    sealed = [choice["seat"] for line in viewed(noisy, eye)["plies"] for choice in line["sealed"]]
    assert sealed == ([] if seat is None else [seat] * 20)


@pytest.mark.parametrize("name", HIDDEN)
def test_whoever_looks_on_the_record_that_is_checked_is_whole(viewed: Viewing, name: str) -> None:
    match = made(name, HIDDEN[name])
    assert viewed(match, 0)["record"] == {key: match[key] for key in ("header", "start", "plies", "strikes", "footer")}
    assert viewed(match, "all")["plies"] == match["plies"]


@pytest.mark.parametrize("name", OPEN)
def test_where_nothing_is_hidden_everybody_sees_everything(viewed: Viewing, name: str) -> None:
    match = made(name, OPEN[name])
    told = viewed(match, "spectators")
    assert not told["isHidden"]
    assert told["plies"] == match["plies"]
