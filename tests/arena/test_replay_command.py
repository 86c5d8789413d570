"""`arena replay show`: what somebody who looks at a match is told."""

from __future__ import annotations

from typing import Any

import pytest

from arena.commands import replay


@pytest.mark.parametrize("boards", [False, True])
async def test_strikes_are_shown_with_their_reasons(
    serve: Any, capsys: pytest.CaptureFixture[str], boards: bool
) -> None:
    served = await serve()
    first, second, start = await served.begun()
    await first.expect("turn")
    for take in (9, 10, 11):
        await first.send(type="move", match=start["match"], ply=0, move={"heap": 0, "take": take})
    await second.expect("end")
    replay.show(start["match"], str(served.data / "arena.db"), boards=boards, to_json=False)
    shown = capsys.readouterr().out
    assert [f"{take} cannot be taken" in shown for take in (9, 10, 11)] == [True] * 3
    assert f"{start['seats'][0]['bot']} (illegal)" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count(" 2:    7  |||||||") == (2 if boards else 1)
