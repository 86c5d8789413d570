"""`arena replay show`: what somebody who looks at a match is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arena.commands import replay
from commands import call

GOLDEN = Path(__file__).parents[1] / "golden"
HOSTILE = "\x1b]0;mine\x07\x9b31m\u202e"


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
    assert [f"{take} cannot be taken; the heaps are [3, 5, 7]" in shown for take in (9, 10, 11)] == [True] * 3
    assert f"{start['seats'][0]['bot']} (illegal)" in shown
    assert shown.count(" 2:    7  |||||||") == (2 if boards else 1)


@pytest.mark.parametrize("words", [(), ("--boards",), ("--json",)], ids=["plies", "boards", "json"])
@pytest.mark.parametrize("name", ["nim-classic", "duel-africa"])
def test_a_strangers_record_tells_a_terminal_nothing(tmp_path: Path, name: str, words: tuple[str, ...]) -> None:
    lines = [json.loads(line) for line in (GOLDEN / f"{name}.jsonl").read_text().splitlines()]
    lines[0]["started"] = lines[0]["seats"][0]["bot"] = lines[0]["seats"][1]["version"] = lines[-1]["reason"] = HOSTILE
    lines.insert(-1, {"type": "strike", "ply": 1, "seat": 0, "code": "illegal_move", "message": HOSTILE})
    file = tmp_path / "theirs.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for command in (("show", *words), ("grade", *words[1:]), ("verify",)):
        done = call("arena", "replay", *command, str(file))
        said = (done.out + done.err).replace("\n", "")
        assert said
        assert said.isprintable()


def test_of_several_files_those_that_do_not_verify_are_named(tmp_path: Path) -> None:
    record = (GOLDEN / "nim-classic.jsonl").read_text()
    match = json.loads(record.splitlines()[0])["match"]
    (tmp_path / "mine.jsonl").write_text(record)
    (tmp_path / "theirs.jsonl").write_text(record.replace('"plies":', '"plies":1'))
    done = call("arena", "replay", "verify", str(tmp_path / "mine.jsonl"), str(tmp_path / "theirs.jsonl"))
    assert done.code == 1
    assert done.err.startswith(f"arena: {tmp_path / 'theirs.jsonl'}: {match}: ")
    assert done.err.endswith("arena: 1 of 2 records did not verify\n")


def test_files_that_cannot_be_read_do_not_keep_the_others_from_being_verified(tmp_path: Path) -> None:
    mine, gone = GOLDEN / "nim-classic.jsonl", tmp_path / "gone.jsonl"
    done = call("arena", "replay", "verify", str(gone), "nine", str(mine), ARENA_DATA=str(tmp_path))
    assert (done.code, done.out.splitlines()[0].startswith(f"{mine}: verified, ")) == (1, True)
    assert done.err == (
        f"arena: {gone} can't be read: No such file or directory\n"
        f"arena: nine: no arena data in {tmp_path}/arena.db: start `arena serve` or `arena tournament` first\n"
        "arena: 2 of 3 records did not verify\n"
    )
