"""The page of a live match has the board of every position that the arena has sent, also for games without a script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FOLLOW = """async (load, turns) => {
  const { LiveDocument } = await load("viewer/live.js");
  const match = new LiveDocument({ game: "pig", config: {}, seats: [{ bot: "ann" }, { bot: "bob" }] });
  for (const turn of turns) match.turn({ clock: [1, 1], digest: "", ...turn });
  await match.working;
  return Array.from({ length: match.last + 1 }, (_, at) => match.state(at)?.ply ?? null);
}"""


def event(ply: int) -> dict[str, Any]:
    return {"ply": ply, "seat": ply % 2, "move": {"move": "roll"}}


def turn(first: int, ply: int, *states: int) -> dict[str, Any]:
    """A turn with the events from ply `first` on, the state of a ply, and those of the plies `states`."""
    sent = {"states": [{"ply": each} for each in states]} if states else {}
    return {"events": [event(each) for each in range(first, ply)], "state": {"ply": ply}, **sent}


def test_a_late_spectator_sees_the_boards_of_all_positions_that_were_sent(scripts: Callable[..., Any]) -> None:
    assert scripts(FOLLOW, [turn(0, 4, 0, 1, 2, 3), turn(4, 5), turn(5, 7, 6)]) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert scripts(FOLLOW, [turn(0, 4, 2, 3), turn(4, 6)]) == [None, None, 2, 3, 4, None, 6]
