"""`arena bot show`: a bot's ratings, its versions side by side with intervals, its latest matches."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from arena.store.store import Store
from commands import Done, call
from databases import filled_store
from seasons import finish, result


def play_two_versions(store: Store) -> None:
    """Version 1 of ann won 2 of 12, version 2 9 of 12, all rated; and an unrated draw of three without a version."""
    for version, won in (("1", 2), ("2", 9)):
        for number in range(12):
            ranks = (1, 2) if number < won else (2, 1)
            finish(store, result(f"v{version}-{number}", ranks=ranks, version=version))
    finish(store, result("draw", ("bob", "ann", "cid"), (1, 1, 3), rated=False, version=""))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    filled_store(tmp_path / "arena.db", play_two_versions).close()
    return tmp_path


def show(data: Path, *words: str) -> Done:
    return call("arena", "bot", "show", *words, "--data", str(data))


def test_versions_stand_side_by_side_with_what_each_has_more_than_the_one_before(data: Path) -> None:
    code, out, err = show(data, "Ann")
    assert (code, err) == (0, "")
    parts = [[line.split() for line in part.splitlines()] for part in out.split("\n\n")]
    first, ratings, rated, unrated, latest = parts
    assert first[0][:2] == ["ann,", "registered"]
    assert ratings[1][:3] == ["nim/classic", "1", "2"]
    newest, oldest = rated[2:]
    assert (newest[0], newest[3:7]) == ("2", ["12", "9", "0", "3"])
    assert newest[7:] == ["0.750", "0.468-0.911", "+0.583", "+0.131", "to", "+0.827"]
    assert (oldest[0], oldest[7:]) == ("1", ["0.167", "0.047-0.448"])
    assert (unrated[2][0], unrated[2][3:8]) == ("(none)", ["1", "0", "1", "0", "0.500"])
    assert latest[1][:6] == ["draw", "nim", "drew", "with", "bob,", "cid"]
    assert latest[2][:8] == ["v2-11", "nim", "lost", "to", "bob", "as", "version", "2"]
    assert len(latest) == 11


def test_of_a_few_matches_no_version_is_said_to_be_better_and_no_share_goes_beyond_all(
    store: Store, tmp_path: Path
) -> None:
    for version, ranks in (("1", [(1, 2), (2, 1), (2, 1), (2, 1)]), ("2", [(1, 2)] * 3)):
        finish(store, *(result(f"v{version}-{at}", ranks=each, version=version) for at, each in enumerate(ranks)))
    out = show(tmp_path, "ann").out
    assert re.search(r"^2 .* 1\.000  0\.439-1\.000 +\+0\.750 +-0\.150 to \+0\.994$", out, re.MULTILINE)
    assert re.search(r"^1 .* 0\.250  0\.046-0\.699\s*$", out, re.MULTILINE)


def test_that_a_bot_is_revoked_and_its_match_annulled_is_shown(data: Path) -> None:
    assert call("arena", "bot", "add", "ann", "--data", str(data)).code == 0
    for words in (("bot", "revoke", "ann"), ("match", "annul", "v2-11")):
        assert call("arena", *words, "--data", str(data)).code == 0
    lines = show(data, "ann").out.splitlines()
    assert lines[0].endswith(", revoked")
    assert [line.split()[-4:-2] for line in lines if line.startswith("v2-11 ")] == [["win,", "annulled"]]


def test_as_json_it_has_the_same_intervals(data: Path) -> None:
    record = json.loads(show(data, "ann", "--json").out)
    assert [row["pool"] for row in record["profile"]["standings"]] == ["nim/classic"]
    rated, unrated = record["versions"]
    assert (rated["pool"], unrated["pool"], rated["total"]) == ("nim/classic", "nim/unrated", 2)
    newest, oldest = rated["versions"]
    assert (newest["share"]["score"], round(newest["gain"]["low"], 3), oldest["gain"]) == (0.75, 0.131, None)
    assert record["latest"][0]["match"] == "draw"


def test_a_bot_that_never_played_and_one_that_nobody_knows(data: Path) -> None:
    call("arena", "bot", "add", "eve", "--data", str(data))
    _, out, _ = show(data, "eve")
    assert (out.startswith("eve, registered "), out.endswith("approved\n\nno matches yet\n")) == (True, True)
    assert show(data, "nobody") == (2, "", "arena: there is no bot called nobody: `arena bot list` names them\n")
