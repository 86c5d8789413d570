"""`arena replay verify` beside what tells which match was played: the database, a digest, a signed log."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from arena.commands import record_checks
from arena.commands.record_checks import NOT_COMPARED_MESSAGE
from arena.store.dialect import execute
from arena.store.finish import finish_matches
from arena.store.match_log import make_key, prove_inclusion
from arena.store.store import Reader, Store
from arena.web.site import Site
from commands import Done, call
from protocol.errors import ArenaFault
from referee.effects import Abort, Resignation
from referee_table import Table
from stored_matches import finished
from web_client import served

API = Path(__file__).parents[2] / "docs" / "api.md"


def table(loser: int, match: str = "m-1") -> Table:
    """The match, or another under the same id, seed, names, nonces and commitment: another seat gave it up."""
    played = Table("nim", {"preset": "classic"}, match=match, rated=True).begin()
    played.play({"heap": 0, "take": 1 + loser})
    played.send(Resignation(loser))
    return played


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the true record, a forged one, and an arena's data."""
    with closing(Store.open(tmp_path / "arena-data" / "arena.db")) as store:
        store.write(finish_matches, [finished(table(0)), finished(table(1, "m-2"))])
    (tmp_path / "true.jsonl").write_bytes(gzip.decompress(table(0).packed()))
    (tmp_path / "forged.jsonl").write_bytes(gzip.decompress(table(1).packed()))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def digest(loser: int) -> str:
    return table(loser).match.result("x").digest


def verify(*words: str) -> Done:
    return call("arena", "replay", "verify", *words)


def refusal(*words: str) -> str:
    done = verify(*words)
    assert (done.code != 0, done.out) == (True, "")
    assert done.err.count("\n") == 1
    return done.err


def test_another_match_under_the_same_commitment_verifies_and_is_refused_beside_the_database(folder: Path) -> None:
    done = verify("forged.jsonl", "--data", "nowhere")
    assert (done.code, done.out.splitlines()[1:]) == (0, [f"  {NOT_COMPARED_MESSAGE}"])
    assert refusal("forged.jsonl").startswith(
        "arena: forged.jsonl: this is not match m-1 as arena-data/arena.db has it: digest is"
    )
    assert verify("true.jsonl").out.splitlines()[1:] == ["  it is match m-1 as arena-data/arena.db has it"]
    assert verify("m-1").out.splitlines()[1:] == ["  it is match m-1 as arena-data/arena.db has it"]


def test_of_all_records_of_a_database_each_is_compared_with_its_result(folder: Path) -> None:
    assert verify().out == "2 records verified\n"
    with closing(Store.open(folder / "arena-data" / "arena.db")) as store:
        change = "UPDATE matches SET digest = :digest WHERE id = 'm-2'"
        store.write(lambda connection: execute(connection, change, {"digest": digest(0)}).rowcount)
    done = verify()
    assert (done.code, done.out) == (1, "")
    assert (
        f"arena: m-2: the last digest is {table(1, 'm-2').match.result('x').digest}, but the database has" in done.err
    )


def not_rated(rows: list[dict[str, Any]]) -> None:
    rows[0]["rated"] = False
    del rows[0]["pool"], rows[-1]["ratings"]


def thought_longer(rows: list[dict[str, Any]]) -> None:
    rows[1]["clock"][1] -= 1


@pytest.mark.parametrize(
    ("change", "said"), [(not_rated, "rated is True, the record says False"), (thought_longer, "line 2 differs")]
)
def test_what_the_digest_leaves_out_is_compared_with_the_database_as_well(
    folder: Path, change: Callable[[list[dict[str, Any]]], None], said: str
) -> None:
    rows = [json.loads(line) for line in (folder / "true.jsonl").read_bytes().splitlines()]
    change(rows)
    (folder / "changed.jsonl").write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    assert verify("changed.jsonl", "--data", "nowhere").code == 0
    assert said in refusal("changed.jsonl")


def test_a_digest_that_was_told_is_that_of_the_record_or_it_is_refused(folder: Path) -> None:
    done = verify("true.jsonl", "--data", "nowhere", "--digest", digest(0).upper())
    assert done.out.splitlines()[1:] == ["  its digest is the given one"]
    said = refusal("forged.jsonl", "--data", "nowhere", "--digest", digest(0))
    assert said == f"arena: forged.jsonl: the last digest of match m-1 is {digest(1)}, but you gave {digest(0)}\n"
    assert "--digest is 'ab': it must be 64 hex digits" in refusal("true.jsonl", "--digest", "ab")
    assert "--digest is for one match" in refusal("--digest", digest(0))
    assert "add --log" in refusal("true.jsonl", "--key", digest(0))


def test_a_record_is_compared_with_the_log_that_an_arena_serves_or_a_proof_that_was_saved(folder: Path) -> None:
    with closing(Reader.open(folder / "arena-data" / "arena.db")) as reader:
        proof = reader.read(prove_inclusion, "m-1")
        other = reader.read(prove_inclusion, "m-2")
        assert proof is not None
        (folder / "proof.json").write_bytes(msgspec.json.encode(proof))
        (folder / "other.json").write_bytes(msgspec.json.encode(other))
        key = proof.head.key
        with served(Site(reader)) as url:
            (program,) = re.findall(r"```python\n(import hashlib, json, sys.*?)```", API.read_text(), re.DOTALL)
            words = [sys.executable, "-c", program, f"{url}/api/v1/matches/m-1/proof"]
            by_hand = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            assert by_hand == f"m-1 ended with {digest(0)} by the log of {key}\n"
            for log in (url, f"{url}/api/v1/matches/m-1/proof", "proof.json"):
                done = verify("true.jsonl", "--data", "nowhere", "--log", log, "--key", key)
                assert done.out.splitlines()[1:] == [
                    f"  it is entry 1 of 2 in the log that is signed by the key {key}"
                ], done.err
                said = refusal("forged.jsonl", "--data", "nowhere", "--log", log)
                assert f"the digest of match m-1 is {digest(0)}, here it is {digest(1)}" in said
            assert f"the log is signed by the key {key}, not by 0000" in refusal(
                "true.jsonl", "--data", "nowhere", "--log", url, "--key", "0" * 64
            )
            (folder / "third.jsonl").write_bytes(gzip.decompress(table(0, "m-3").packed()))
            assert "answers 404: there is no finished match 'm-3'" in refusal(
                "third.jsonl", "--data", "nowhere", "--log", url
            )
    assert "the match of match m-1 is m-2" in refusal("true.jsonl", "--data", "nowhere", "--log", "other.json")
    for log, said in (
        ("none.json", "none.json can't be read: No such file or directory"),
        (
            "true.jsonl",
            "true.jsonl is not a proof: --log takes the address of an arena, or what /api/v1/matches/m-1/proof",
        ),
        ("http://127.0.0.1:1", "http://127.0.0.1:1/api/v1/matches/m-1/proof can't be read: Connection refused"),
    ):
        assert said in refusal("true.jsonl", "--data", "nowhere", "--log", log)


@pytest.mark.parametrize("place", [("head", "root"), ("head", "key"), ("head", "signature"), ("path", 0)])
@pytest.mark.parametrize("said", ["", "zz" * 32, "ab", "é" * 64, 7])
def test_a_log_that_says_what_is_no_hash_is_refused_in_a_line(folder: Path, place: Any, said: object) -> None:
    with closing(Reader.open(folder / "arena-data" / "arena.db")) as reader:
        proof = msgspec.to_builtins(reader.read(prove_inclusion, "m-1"))
    proof[place[0]][place[1]] = said
    (folder / "proof.json").write_text(json.dumps(proof))
    assert "proof.json is not a proof" in refusal("true.jsonl", "--data", "nowhere", "--log", "proof.json")


def test_a_record_with_a_key_twice_in_a_line_is_refused(folder: Path) -> None:
    lines = (folder / "true.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "twice.jsonl").write_bytes(b"".join([*lines[:-1], lines[-1].replace(b"{", b'{"plies":9,', 1)]))
    assert "line 4: the key 'plies' appears 2 times" in refusal("twice.jsonl", "--data", "nowhere")


def test_what_a_record_has_on_the_arenas_word_is_named(folder: Path) -> None:
    left = verify("true.jsonl").out.splitlines()[0]
    assert left.endswith("; on the arena's word: that ann left (resigned)")
    struck = Table("nim").begin()
    struck.play(None)
    struck.send(Abort())
    (folder / "void.jsonl").write_bytes(gzip.decompress(struck.packed()))
    called_off = verify("void.jsonl", "--data", "nowhere").out.splitlines()[0]
    assert called_off.endswith("; on the arena's word: 1 strike for refused moves, that the match was called off")
    golden = Path(__file__).parents[1] / "golden" / "nim-classic.jsonl"
    assert "on the arena's word" not in verify(str(golden)).out


def test_what_can_be_compared_with_nothing_is_wrong_where_that_is_asked_for(folder: Path) -> None:
    assert NOT_COMPARED_MESSAGE in refusal("forged.jsonl", "--data", "nowhere", "--strict")
    assert verify("true.jsonl", "--strict").code == 0


def test_an_arena_cannot_show_another_log_to_who_keeps_its_head(folder: Path) -> None:
    key = "SELECT secret FROM log_keys"
    saved = Path("head.json")
    for match, loser in (("m-2", 1), ("other-2", 0)):
        played = table(loser, match.replace("other", "m"))
        Path(f"{match}.jsonl").write_bytes(gzip.decompress(played.packed()))
    words = ("--data", "nowhere", "--head", str(saved), "--log")
    with closing(Store.open("arena-data/arena.db")) as store, closing(Store.open("other.db")) as other:
        other.write(finish_matches, [finished(table(1)), finished(table(0, "m-2")), finished(table(0, "m-3"))])
        secret = {"secret": store.read(execute, key).scalar_one()}
        other.write(lambda connection: execute(connection, "UPDATE log_keys SET secret = :secret", secret).rowcount)
        with served(Site(store)) as url:
            assert len(verify("m-2.jsonl", *words, url).out.splitlines()) == 2
            heads = [saved.read_bytes()]
            store.write(finish_matches, [finished(table(0, "m-3"))])
            for size in (2, 3):
                said = verify("m-2.jsonl", *words, url).out
                assert f"that log continues the {size} entries that head.json has seen" in said
            heads.append(saved.read_bytes())
        with served(Site(other)) as url:
            for head, size in zip(heads, (2, 3), strict=True):
                saved.write_bytes(head)
                said = refusal("other-2.jsonl", *words, url)
                assert f"this is not the log of head.json: its first {size} entries differ" in said
                assert saved.read_bytes() == head
        saved.write_bytes(b"{}")
        said = refusal("true.jsonl", *words, "http://127.0.0.1:1")
        assert "head.json is not the head of a log, as --head saves it" in said
    assert "add --log URL" in refusal("true.jsonl", *words, "proof.json")


def test_a_head_has_the_new_key_that_was_given_although_the_log_has_not_grown(folder: Path) -> None:
    with closing(Store.open("arena-data/arena.db")) as store, served(Site(store)) as url:
        words = ("true.jsonl", "--data", "nowhere", "--head", "head.json", "--log", url)
        assert verify(*words).code == 0
        key = store.write(make_key)
        assert f"the log is signed by the key {key}, not by" in refusal(*words)
        assert verify(*words, "--key", key).code == 0
        assert json.loads(Path("head.json").read_text())["key"] == key
        assert verify(*words).code == 0


def test_a_pipe_in_the_place_of_a_proof_or_a_head_is_not_waited_for_for_ever(
    folder: Path,
) -> None:
    os.mkfifo("fifo")
    assert "--head fifo can't be written: it is a pipe" in refusal("true.jsonl", "--head", "fifo", "--log", "http://x")
    with pytest.raises(ArenaFault, match="fifo can't be read: it is a pipe or device without an end"):
        record_checks._read("fifo", timeout_s=0.0)
    Path("proof.json").write_bytes('{"a": "é"}'.encode("utf-16"))
    assert record_checks._read("proof.json") == '{"a": "é"}'.encode()
