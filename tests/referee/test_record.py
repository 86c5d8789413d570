"""Records: what was written is read back; whatever was changed, cut or is foreign is told in one line."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from typing import Any

import pytest
from msgspec.structs import replace

from arena.ratings.rating_system import RatingStanding, rate
from arena.replay.verify import verify_record
from protocol.errors import BadRecord
from record_rows import Change, Rows, bytes_of, one_more, plies_of, put, refusal, rows_of, turned
from referee import record as records
from referee import record_reader
from referee.effects import Abort, Resignation
from referee.footer import MAX_UNPACKED_BYTES, UnratedRecord
from referee_table import Table, header

pytestmark = pytest.mark.usefixtures("dibs")


@pytest.fixture
def packed() -> bytes:
    """A rated match of nim from a dealt position, with a strike and a word of the bot in it."""
    table = Table("heaps", {"heaps": [9, 9, 9], "start": "p-position"}, rated=True).begin()
    table.play({"heap": 0, "take": 99})
    table.play(legal(table), info={"depth": 2})
    return table.finish_at_random().packed()


def legal(table: Table) -> dict[str, Any]:
    return table.match.game.legal_moves_for_turn(table.match.standing.course.state)[0][0]


def with_dice() -> bytes:
    return Table("dibs", {"sticks": [20]}, rated=False).begin().finish_at_random().packed()


# Writing and reading


def test_a_record_is_read_back_as_it_was_written(packed: bytes) -> None:
    record = record_reader.read_record(packed, "x")
    lines = [records.write_line(line) for line in (record.header, *record.lines)]
    assert records.pack_record(lines, record.footer) == packed
    assert packed[4:8] == bytes(4), "no time stamp in the gzip header: the same record gives the same bytes"
    assert record_reader.read_record(record_reader.unpack(packed, "x"), "x") == record
    assert record_reader.unpack(record_reader.unpack(packed, "x"), "x") == record_reader.unpack(packed, "x")


@pytest.mark.parametrize("lines", [3, 3000])
def test_ratings_that_are_added_late_give_the_same_bytes_each_time(packed: bytes, lines: int) -> None:
    record = record_reader.read_record(packed, "m-1")
    own = gzip.decompress(packed).splitlines(keepends=True)[:-1]
    text = [line for number in range(lines) for line in (b"%d\n" % number, *own)]
    assert (len(b"".join(text)) > MAX_UNPACKED_BYTES) is (lines == 3000)
    unrated = UnratedRecord(text, record.footer)
    ratings = rate("nim/classic", [RatingStanding()] * 2, ["1", "1"], [1, 2])
    for rated in (ratings, None, ratings):
        assert unrated.pack(rated) == records.pack_record(text, replace(record.footer, ratings=rated))


def test_a_record_begins_with_its_header_and_ends_with_its_footer(packed: bytes) -> None:
    rows = rows_of(packed)
    assert [row["type"] for row in rows[:3]] == ["header", "ply", "strike"]
    assert rows[0]["format"] == records.FORMAT
    assert rows[1]["event"]["seat"] == -1
    assert rows[3]["info"] == {"depth": 2}
    assert rows[-1]["type"] == "footer"
    assert set(rows[-1]["ratings"]) == {"pool", "mu", "sigma", "beta", "tau", "draw_probability", "seats"}


def test_a_true_record_verifies(packed: bytes) -> None:
    for data in (packed, gzip.decompress(packed), with_dice()):
        verify_record(record_reader.read_record(data, "x"))


def test_fields_that_a_later_version_adds_are_ignored(packed: bytes) -> None:
    rows = rows_of(packed)
    rows[0]["room"] = "b"
    rows[-1]["weather"] = "fine"
    verify_record(record_reader.read_record(bytes_of(rows), "x"))


def test_a_match_in_a_pool_that_is_said_not_to_be_rated_is_refused() -> None:
    rows = rows_of(Table("nim", {"preset": "classic"}, rated=True).begin().finish_at_random().packed())
    rows[0]["rated"] = False
    drop_ratings(rows)
    assert "the header: it has the pool 'nim/classic', but is not rated" in refusal(rows)


def test_a_deal_of_a_preset_is_rated_in_its_pool_and_in_no_other() -> None:
    paired = header("risk-campaign", {"preset": "grid", "deal": "0f" * 16}, rated=True)
    table = Table(header=paired).begin()
    table.send(Resignation(0))
    rows = rows_of(table.packed())
    verify_record(record_reader.read_record(bytes_of(rows), "x"))
    change_pool("risk-campaign/paper")(rows)
    assert "its config is not rated in the header's pool 'risk-campaign/paper'" in refusal(rows)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_match_that_was_called_off_verifies(when: str) -> None:
    table = Table("heaps", {"heaps": [9, 9, 9], "start": "p-position"}, rated=True)
    table.open()
    if when == "after":
        table.begin()
        table.play(legal(table))
    table.send(Abort())
    verify_record(table.record())


# Files that are no records


def test_a_record_cut_after_any_line_is_refused_with_what_is_missing(packed: bytes) -> None:
    lines = gzip.decompress(packed).splitlines(keepends=True)
    for count in range(len(lines)):
        message = refusal(b"".join(lines[:count]))
        if count == 0:
            assert message == "m-1.jsonl.gz is empty: a match record begins with a header line"
        elif count == 1:
            assert message == "m-1.jsonl.gz is cut short after its header: it has no footer"
        else:
            assert "is cut short after ply" in message


def test_a_record_cut_at_any_byte_is_refused_by_name(packed: bytes) -> None:
    text = gzip.decompress(packed)
    for data in (text, packed):
        for length in range(0, len(data), 3):
            message = refusal(data[:length])
            assert message.startswith("m-1.jsonl.gz ")
            assert len(message) < 300


def test_a_record_with_any_byte_changed_is_read_or_refused_in_one_line(packed: bytes) -> None:
    chance = random.Random(5)
    text = gzip.decompress(packed)
    refused = []
    for data in (text, packed):
        for _ in range(400):
            at = chance.randrange(len(data))
            changed = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
            try:
                verify_record(record_reader.read_record(changed, "m-1.jsonl.gz"))
            except BadRecord as fault:
                refused.append(str(fault))
    assert len(refused) > 600
    assert not [message for message in refused if "\n" in message]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\n", "is not a match record: line 1: "),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "is not a match record: line 1: "),
        (b"\xff" * 50, "is not a match record: line 1: "),
        (b"SQLite format 3\x00", "is not a match record: line 1: "),
        (b'{"a": 1}\n', "is not a match record: line 1: "),
        (b"[]\n", "is not a match record: line 1: "),
        (b"[" * 100_000, "is not a match record: line 1: "),
        (b'{"type":"secret","seed":"' + b"0" * 64 + b'"}\n', "is not a match record: line 1 is not a header"),
        (b"\x1f\x8b nothing", "is damaged: "),
        (gzip.compress(b"hello", mtime=0), "is not a match record: line 1: "),
        (gzip.compress(b"", mtime=0), "is empty"),
    ],
)
def test_a_foreign_file_is_refused_by_name(data: bytes, said: str) -> None:
    assert said in refusal(data)


@pytest.mark.parametrize("form", [1, 3])
def test_another_format_is_named_whatever_else_changed_in_it(form: int) -> None:
    said = f"m-1.jsonl.gz has format {form}, written by 3.1: this version reads 2"
    assert refusal(b'{"type":"header","format":%d,"version":"3.1","seats":5}\n' % form) == said
    table = Table()
    head = json.loads(records.write_line(table.header)) | {"format": form, "version": "3.1"}
    assert refusal(json.dumps(head).encode() + b"\n") == said


def test_a_file_that_unpacks_to_too_much_is_refused_and_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reader, "MAX_RECORD_BYTES", 1_000_000)
    bomb = gzip.compress(b"0" * 5_000_000)
    assert refusal(bomb) == "m-1.jsonl.gz unpacks to more than 1000000 bytes: a match record is smaller"


def test_a_record_of_exactly_the_most_bytes_is_read(packed: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reader, "MAX_RECORD_BYTES", len(gzip.decompress(packed)))
    verify_record(record_reader.read_record(packed, "x"))
    monkeypatch.setattr(record_reader, "MAX_RECORD_BYTES", len(gzip.decompress(packed)) - 1)
    assert "unpacks to more than" in refusal(packed)


def test_whatever_follows_the_gzip_stream_is_refused(packed: bytes) -> None:
    assert "has 3 bytes after the end of its gzip stream" in refusal(packed + b"abc")
    assert "bytes after the end" in refusal(packed + packed)


def test_a_gzip_stream_whose_check_sum_is_wrong_is_refused(packed: bytes) -> None:
    wrong = packed[:-8] + zlib.crc32(b"x").to_bytes(4, "little") + packed[-4:]
    assert "m-1.jsonl.gz is damaged" in refusal(wrong)


@pytest.mark.parametrize("tag", ["header", "footer", "secret", "begun", "void"])
def test_a_line_that_only_a_journal_has_or_a_second_header_is_refused(packed: bytes, tag: str) -> None:
    rows = rows_of(packed)
    extra = {
        "header": rows[0],
        "footer": rows[-1],
        "secret": {"type": "secret", "seed": "0" * 64},
        "begun": {"type": "begun", "nonces": ["", ""]},
        "void": {"type": "void"},
    }[tag]
    assert f"line 3 is a {tag}: only events are allowed there" in refusal([*rows[:2], extra, *rows[2:]])


def test_a_ply_with_more_or_fewer_clocks_than_seats_is_refused_before_it_is_used(packed: bytes) -> None:
    for clock in ([], [60_000] * 3):
        rows = rows_of(packed)
        ply = next(row for row in rows if row["type"] == "ply")
        ply["clock"] = clock
        said = f"ply {ply['event']['ply']}: {len(clock)} clocks, but the header has 2 seats"
        assert said in refusal(rows)


def test_a_footer_for_more_seats_than_there_are_is_refused_before_it_is_used(packed: bytes) -> None:
    for field in ("ranks", "reasons"):
        rows = rows_of(packed)
        rows[-1][field].append(rows[-1][field][0])
        assert f"the footer has 3 {field}, but the header has 2 seats" in refusal(rows)


# Records that lie


def change_pool(pool: str) -> Change:
    def change(rows: Rows) -> None:
        rows[0]["pool"] = rows[-1]["ratings"]["pool"] = pool

    return change


def drop_ratings(rows: Rows) -> None:
    del rows[-1]["ratings"]


def remove(at: int) -> Change:
    def change(rows: Rows) -> None:
        del rows[rows.index(plies_of(rows)[at])]

    return change


def swap(a: int, b: int) -> Change:
    def change(rows: Rows) -> None:
        plies = plies_of(rows)
        i, j = rows.index(plies[a]), rows.index(plies[b])
        rows[i], rows[j] = rows[j], rows[i]

    return change


def move_the_strike(rows: Rows) -> None:
    rows.insert(4, rows.pop(2))


def put_a_strike_in(rows: Rows) -> None:
    rows.insert(2, rows[2])


def put_a_strike_in_and_tell(rows: Rows) -> None:
    put_a_strike_in(rows)
    plies_of(rows)[1]["event"]["strikes"].append(0)


def leave_the_strike_out(rows: Rows) -> None:
    del rows[2]


def unrate(rows: Rows) -> None:
    rows[0] |= {"rated": False, "pool": None}


def leave_too_late(rows: Rows) -> None:
    last = plies_of(rows)[-1]
    rows.insert(-1, {**last, "event": {"ply": last["event"]["ply"] + 1, "seat": 0, "out": "resigned"}})


def call_it_off(rows: Rows) -> None:
    rows[-1] |= {"reason": "void", "reasons": ["void", "void"], "ranks": [1, 1], "ratings": None}


LIES: list[tuple[str, Change, str]] = [
    ("a move", put("ply 3 event move take", lambda take: 2 if take == 1 else take - 1), "m-1: ply 3: "),
    ("the deal", put("ply 0 event move heaps 1", one_more), "m-1: ply 0: move should be "),
    ("a digest", put("ply 2 digest", "0" * 64), "m-1: ply 2: the digest does not follow: this move was changed"),
    (
        "the digest of the first move",
        put("ply 1 digest", "0" * 64),
        "m-1: ply 1: the digest does not follow: this move was changed",
    ),
    ("a move that cannot be", put("ply 3 event move take", 99), ": 99 cannot be taken; the heaps are ["),
    ("the ranks", put("footer ranks", turned), "ranks should be "),
    ("one rank", put("footer ranks 0", 3), "ranks should be "),
    ("the reason", put("footer reason", "draw"), "reason should be win, the footer says draw"),
    ("a seat's reason", put("footer reasons", ["win", "timeout"]), "reasons should be "),
    ("the plies", put("footer plies", 1), "plies should be "),
    ("the last digest", put("footer digest", "0" * 64), "digest should be "),
    ("the seed", put("footer seed", "0" * 64), "the seed does not match the commitment in the header"),
    ("a nonce", put("footer nonces 0", "ab" * 16), "m-1: ply 0: "),
    ("a nonce too many", put("footer nonces", ["", "", ""]), "3 nonces, but heaps has 2 seats"),
    ("mu after", put("footer ratings seats 1 mu_after", one_more), "seat 1: mu_after should be "),
    ("sigma after", put("footer ratings seats 1 sigma_after", one_more), "seat 1: sigma_after should be "),
    ("mu before", put("footer ratings seats 1 mu_before", one_more), "seat 0: mu_after should be "),
    ("sigma before", put("footer ratings seats 1 sigma_before", one_more), "sigma_before"),
    ("beta", put("footer ratings beta", 5.0), "the ratings' beta should be "),
    ("the pool", put("footer ratings pool", "grundy"), "the ratings' pool should be heaps/classic"),
    (
        "the pool of the header",
        change_pool("nim/classic"),
        "its config is not rated in the header's pool 'nim/classic'",
    ),
    ("the ratings' seats", put("footer ratings seats", []), "the footer has 0 ratings, but the header has 2 seats"),
    ("no ratings", drop_ratings, "the match is rated, but the footer has no ratings"),
    ("the config", put("header config heaps 0", one_more), "m-1: ply 0: "),
    ("a config that cannot be", put("header config", {"heaps": [-1]}), "m-1: the header: nim: heaps[0] is -1"),
    ("the game", put("header game", "chess"), "m-1: this arena does not have the rules of chess"),
    ("another game", put("header game", "tictactoe"), "m-1: the header: tictactoe has no config key 'heaps'"),
    ("the match id", put("header match", "m-12"), "the seed does not match the commitment in the header"),
    ("the commitment", put("header commitment", "0" * 64), "the seed does not match the commitment in the header"),
    ("rated", unrate, "the match is not rated, but the footer has ratings"),
    ("rated alone", put("header rated", False), "it has the pool 'heaps/classic', but is not rated"),
    ("the number of seats", put("header seats", [{"bot": "ann"}]), "ply 0: 2 clocks, but the header has 1 seats"),
    (
        "a name",
        put("header seats 1 bot", "eve"),
        "m-1: ply 0: the digest does not follow: this move, a bot, the config or a nonce was changed",
    ),
    ("the deal removed", remove(0), "m-1: ply 1: "),
    ("a ply removed", remove(2), "m-1: ply 3: "),
    ("the last ply removed", remove(-1), "is to move, but the footer says 'win'"),
    ("two plies swapped", swap(1, 2), "m-1: ply 2: "),
    ("the strike moved", move_the_strike, "m-1: ply 1: strikes should be None, the record says [0]"),
    ("a strike put in", put_a_strike_in, "m-1: ply 1: strikes should be [0, 0], the record says [0]"),
    ("a strike put in and told of", put_a_strike_in_and_tell, "m-1: ply 1: the digest does not follow"),
    ("the strike left out", leave_the_strike_out, "m-1: ply 1: strikes should be None, the record says [0]"),
    ("the pool removed", put("header pool", None), "the header: it is rated, but has no pool"),
    ("a name twice", put("header seats 1 bot", "ANN"), "the header: ann has 2 seats: a bot may have one"),
    ("a name that is none", put("header seats 1 bot", "b o b"), "the header: 'b o b' is not a name: 1 to 32 letters"),
    ("another seat's move", put("ply 2 event seat", 0), "m-1: ply 2: seat 0 moves, but seat 1 is to move"),
    ("an event after the end", leave_too_late, "the match was over before this event"),
    ("a win called off", call_it_off, "the match was over by 'win', but the footer says 'void'"),
]


@pytest.mark.parametrize(("change", "said"), [lie[1:] for lie in LIES], ids=[lie[0] for lie in LIES])
def test_a_record_with_one_thing_changed_is_refused_naming_the_ply(packed: bytes, change: Change, said: str) -> None:
    rows = rows_of(packed)
    change(rows)
    message = refusal(rows)
    assert said in message
    assert any(word in message for word in ("ply", "header", "seats", "rules"))


@pytest.mark.parametrize("at", [0, 1, -1])
def test_a_key_that_is_there_twice_is_refused_naming_its_line(packed: bytes, at: int) -> None:
    lines = gzip.decompress(packed).splitlines()
    key = {0: b'"match":"m-2"', 1: b'"digest":"00"', -1: b'"plies":7'}[at]
    lines[at] = lines[at][:-1] + b"," + key.replace(b"00", b"0" * 64) + b"}"
    number = range(1, len(lines) + 1)[at]
    said = f"m-1.jsonl.gz: line {number}: the key '{json.loads(b'{' + key + b'}').popitem()[0]}' appears 2 times"
    record_reader.check_keys(packed, "m-1.jsonl.gz")
    with pytest.raises(BadRecord, match=said):
        record_reader.check_keys(b"\n".join([*lines, b""]), "m-1.jsonl.gz")


def test_a_strike_that_no_event_tells_of_is_in_the_digest_of_a_match_that_was_called_off() -> None:
    table = Table("nim", {"heaps": [3, 3]}).begin()
    table.play({"heap": 0, "take": 1})
    table.play(None)
    table.send(Abort())
    assert table.match.end_message(0).strikes == [1]
    rows = rows_of(table.packed())
    verify_record(record_reader.read_record(bytes_of(rows), "x"))
    for change in (lambda: rows.insert(2, rows[2]), lambda: rows.__delitem__(slice(2, 4))):
        change()
        assert "digest should be " in refusal(rows)


def test_a_die_that_was_not_rolled_is_refused_naming_the_ply() -> None:
    rows = rows_of(with_dice())
    for at, row in enumerate(plies_of(rows)):
        changed = json.loads(json.dumps(rows))
        die = row["event"]["dice"][0][0]
        plies_of(changed)[at]["event"]["dice"] = [[die % 6 + 1]]
        message = refusal(changed)
        assert message == f"m-1: ply {at}: dice should be [[{die}]], the record says [[{die % 6 + 1}]]"


def test_more_time_given_back_than_may_be_is_refused_naming_the_ply(packed: bytes) -> None:
    rows = rows_of(packed)
    mine = [row for row in plies_of(rows) if row["event"]["seat"] == 1]
    mine[0]["given"], mine[-1]["given"] = 400, 200
    verify_record(record_reader.read_record(bytes_of(rows), "x"))
    mine[-1]["given"] = 201
    ply = mine[-1]["event"]["ply"]
    assert refusal(rows) == f"m-1: ply {ply}: seat 1 was given back 601 ms so far: at most 600 are allowed"
    mine[-1]["given"] = -1
    assert "given" in refusal(rows)


def test_a_result_that_did_not_happen_is_refused_naming_the_ply() -> None:
    rows = rows_of(with_dice())
    plies_of(rows)[1]["event"]["result"]["left"] += 1
    assert refusal(rows).startswith("m-1: ply 1: result should be ")


def leaving(strikes: int = 0, **told: Any) -> str:
    """How a record is refused whose seat leaves in another way than it did."""
    table = Table("nim", {"heaps": [3, 3]}).begin()
    for _ in range(strikes):
        table.play(None)
    if not strikes:
        table.play({"heap": 0, "take": 1})
        table.send(Resignation(0))
    rows = rows_of(table.packed())
    plies_of(rows)[-1]["event"].update(told)
    return refusal(rows)


def test_a_seat_that_leaves_for_no_reason_known_or_from_nowhere_is_refused() -> None:
    assert "m-1: ply 1: seat 0 leaves by 'boredom': one of resigned, " in leaving(out="boredom")
    assert "m-1: ply 1: seat 5 is not in the match and cannot leave it" in leaving(seat=5)
    assert "m-1: ply 1: seat -1 is not in the match and cannot leave it" in leaving(seat=-1)
    assert "m-1: ply 2: ply should be 1, the record says 2" in leaving(ply=2)


def test_a_loss_by_bad_moves_needs_three_strikes_and_three_strikes_lose() -> None:
    assert "leaves by 'illegal' after 0 strikes of 3" in leaving(out="illegal")
    assert "leaves by 'timeout' after 3 strikes of 3" in leaving(strikes=3, out="timeout")
    table = Table("nim", {"heaps": [3, 3]}).begin()
    table.play(None)
    table.play(None)
    rows = rows_of(table.finish_at_random().packed())
    rows.insert(1, rows[1])
    assert "moves after 3 strikes" in refusal(rows)


def test_a_header_with_seats_that_the_game_does_not_have_is_refused() -> None:
    rows = rows_of(Table("tictactoe").begin().finish_at_random().packed())
    rows[0]["seats"].append({"bot": "cas"})
    rows[-1]["ranks"].append(2)
    rows[-1]["reasons"].append("win")
    for row in rows[1:-1]:
        row["clock"].append(60_000)
    assert "3 seats, but tictactoe has 2 seats" in refusal(rows)
