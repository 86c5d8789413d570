"""The check in the browser, run by Node: what it finds in true records and in forged ones, step by step."""

from __future__ import annotations

import copy
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterator
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import msgspec
import pytest

from arena.replay.match_document import make_document
from games.poker.rules import MOVES
from golden import make
from golden.make import Golden
from independent_client import canonical
from node import page_scripts
from own_game_records import MATCHES
from protocol.dice import match_key
from protocol.games import load_game
from record_rows import bytes_of
from referee import record_reader
from referee.effects import Abort, Resignation
from referee_table import Table

Lines = list[dict[str, Any]]
Steps = list[dict[str, Any]]
Checking = Callable[[bytes], Steps]
Verdict = dict[str, str]
Judging = Callable[[bytes], Verdict]
Forge = Callable[[Any], None]
CHECK = """async (load, text) => {
  const { check } = await load("check/check.js");
  const { verdictOf } = await load("check/verdict.js");
  const [document, steps] = [JSON.parse(text), []];
  for await (const step of check(document)) steps.push(step);
  return { steps, verdict: verdictOf(document, steps) };
}"""
HAS_WEB_CRYPTO = "async (load) => (await load('check/hash.js')).byBrowser"


@pytest.fixture
def check(scripts: Callable[..., Any]) -> Checking:
    return lambda document: scripts(CHECK, document.decode())["steps"]


@pytest.fixture
def judge(scripts: Callable[..., Any]) -> Judging:
    """What the page says of a match document."""
    return lambda document: scripts(CHECK, document.decode())["verdict"]


@pytest.fixture
def plain_http(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """The modules of a page that came without encryption, and has no Web Crypto."""
    with page_scripts(tmp_path / "modules", "--own") as run:
        yield run


def as_document(record: bytes) -> bytes:
    return msgspec.json.encode(make_document(record_reader.read_record(record, "record")))


def lines_of(name: str) -> Lines:
    return [json.loads(line) for line in make.HERE.joinpath(f"{name}.jsonl").read_bytes().splitlines()]


def forged(lines: Lines) -> bytes:
    return as_document(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def document_of(name: str, forge: Forge = lambda lines: None) -> bytes:
    """The document of a golden record after a forgery of its lines."""
    lines = lines_of(name)
    forge(lines)
    return forged(lines)


def is_hidden(header: dict[str, Any]) -> bool:
    return load_game(header["game"], header["config"]).hidden


def key_of(lines: Lines) -> bytes:
    nonces = [bytes.fromhex(nonce) for nonce in lines[-1]["nonces"]]
    return match_key(lines[0]["match"], bytes.fromhex(lines[-1]["seed"]), nonces)


def first_digest(header: dict[str, Any], footer: dict[str, Any]) -> bytes:
    """D(0) by the document."""
    opening = {key: header[key] for key in ("match", "game", "config", "commitment", "rules") if key in header}
    opening |= {"seats": [seat["bot"] for seat in header["seats"]], "nonces": footer["nonces"]}
    return hashlib.sha256(b"bot-arena/1/digest" + canonical(opening)).digest()


def next_digest(previous: bytes, event: Any, state: Any, key: bytes | None, salted: bytes | None = None) -> bytes:
    """D(k) by the document; with a key, and a salt of D(k - 1), or of another digest."""
    said = previous if salted is None else salted
    salt = b"" if key is None else hmac.digest(key, b"bot-arena/1/salt" + said, "sha256")
    return hashlib.sha256(previous + salt + canonical({"event": event, "state": state})).digest()


def chained(lines: Lines) -> bytes:
    """The same after a forger has made the digests follow, with the states of the true match."""
    header, *between, footer = lines
    plies = [line for line in between if line["type"] == "ply"]
    key = key_of(lines) if is_hidden(header) else None
    true = json.loads(document_of(header["match"]))
    digest = first_digest(header, footer)
    for line, stated in zip(plies, true["plies"], strict=True):
        digest = next_digest(digest, line["event"], stated["state"], key)
        line["digest"] = footer["digest"] = digest.hex()
    return forged(lines)


def wrong(steps: Steps) -> list[tuple[int | None, str]]:
    return [(step["index"], step["what"]) for step in steps if step["ok"] is False]


@pytest.mark.parametrize(("page", "is_encrypted"), [("scripts", True), ("plain_http", False)])
def test_every_golden_record_is_found_true_event_by_event(
    request: pytest.FixtureRequest, page: str, *, is_encrypted: bool
) -> None:
    run = request.getfixturevalue(page)
    assert run(HAS_WEB_CRYPTO) is is_encrypted
    for name in make.GOLDEN:
        steps = run(CHECK, as_document(make.HERE.joinpath(f"{name}.jsonl").read_bytes()).decode())["steps"]
        lines = lines_of(name)
        plies = sum(line["type"] == "ply" for line in lines)
        assert wrong(steps) == [], name
        assert sum(step["what"] == "sealed" for step in steps) == sum(line["type"] == "sealed" for line in lines)
        assert [step["index"] for step in steps if step["what"] == "state"] == list(range(plies))
        assert [step["index"] for step in steps if step["what"] == "digest"] == [*range(plies), None]
        assert [step["what"] for step in steps if step["what"] in ("end", "payoffs")] == (
            ["end", "payoffs"] if "payoffs" in lines[-1] else ["end"]
        )


GAMES = {
    "misere-dealt": Golden("nim", {"heaps": [300, 7, 20], "take": [2, 3, 7], "misere": True, "start": "p-position"}),
    "rare-deals": Golden("nim", {"heaps": [5, 4, 0, 1], "start": "p-position"}),
    "sticks": Golden("nim", {"preset": "sticks"}),
    "grundy": Golden("grundy", {"preset": "large"}),
    "tictactoe": Golden("tictactoe", {}),
    "duel-of-other-armies": Golden("risk-duel", {"armies": [2, 5, 4]}),
    "duel-resigned": Golden("risk-duel", {"preset": "asia"}, leaves=20, leaver=1),
    "campaign-of-four": Golden("risk-campaign", {"preset": "world", "players": 4, "max_rounds": 4}, seats=4),
    "campaign-of-three-in-snake-order": Golden(
        "risk-campaign",
        {"map": "africa", "players": 3, "turn_order": "snake", "first_draft": 1},
        seats=3,
        leaves=9,
        leaver=1,
    ),
    "campaign-of-two-late": Golden("risk-campaign", {"max_rounds": 3, "initial_units": 9}, late=12),
    "dilemma-noisy": Golden("dilemma", {"rounds": 30, "noise": "0.3"}),
    "dilemma-noisy-late": Golden("dilemma", {"preset": "open-end", "noise": "0.5"}, late=2),
    "dilemma-of-three-and-five": Golden(
        "dilemma",
        {"payoffs": [[[r - c, 7 * c] for c in range(5)] for r in range(3)], "go_on": "0.8", "noise": "0.25"},
    ),
    "dilemma-resigned": Golden("dilemma", {"preset": "chicken"}, leaves=5, leaver=1),
    "dilemma-late-with-half-a-round-to-come": Golden("dilemma", {"go_on": "0.6"}, late=0),
    "kuhn-late": Golden("kuhn", {"hands": 40}, late=5),
    "kuhn": Golden("kuhn", {"hands": 40}),
    "leduc": Golden("leduc", {"hands": 40}),
    "leduc-resigned": Golden("leduc", {"hands": 40}, leaves=9, leaver=1),
    "campaign-without-dice": Golden("risk-campaign", {"preset": "paper", "max_rounds": 3}),
}


@pytest.mark.parametrize("numbers", [range(1), pytest.param(range(1, 3), marks=pytest.mark.ci)], ids=["one", "more"])
def test_matches_of_every_game_are_found_true(check: Checking, numbers: range) -> None:
    for name, golden in GAMES.items():
        for number in numbers:
            steps = check(as_document(make.make(f"{name}-{number}", golden)))
            assert [step for step in steps if step["ok"] is False] == [], (name, number)


def test_a_match_that_ended_as_a_program_failed_is_found_true(check: Checking) -> None:
    table = Table("nim").begin()
    table.send(Resignation(0, failed=True))
    steps = check(as_document(table.packed()))
    assert wrong(steps) == []


def test_a_student_can_follow_a_die_from_its_block_to_its_face(check: Checking) -> None:
    steps = check(document_of("duel-south-america"))
    (dice,) = [step for step in steps if (step["ply"], step["what"]) == (6, "dice")]
    assert dice["text"] == "attack:6:0 = c574c03576b0423e…; c5 = 197, 197 mod 6 + 1 = 6; 74 = 116, 116 mod 6 + 1 = 3"
    block = "c574c03576b0423e878135080dec6db32a70a2b3785909d1bd94becc8f04bf9d"
    assert dice["detail"]["blocks"] == [{"name": "attack:6:0", "hex": block}]
    assert dice["detail"]["choices"][0] == {"bytes": "c5", "number": 197, "among": 6, "thrown": False, "choice": 5}


def test_of_a_deal_that_was_drawn_again_the_last_draw_is_told(check: Checking) -> None:
    steps = check(document_of("nim-dealt"))
    (deal,) = [step for step in steps if step["what"] == "deal"]
    choices = [choice for choice in deal["detail"]["choices"] if not choice["thrown"]]
    assert [choice["choice"] for choice in choices] == deal["detail"]["is"]["move"]["heaps"]
    assert deal["detail"]["drawn"] == 3 * deal["detail"]["draws"] > 3
    assert deal["text"].startswith(f"The deal follows from the dice: draw {deal['detail']['draws']}; deal:0:")
    assert choices[-1]["bytes"] in "".join(block["hex"] for block in deal["detail"]["blocks"])


def find(document: Any, path: str) -> tuple[Any, Any]:
    """The list or dictionary that holds what is at a path such as `7.event.dice`, and its index or key there."""
    *above, last = (int(part) if part.lstrip("-").isdigit() else part for part in path.split("."))
    return reduce(getitem, above, document), last


def put(path: str, value: Any) -> Forge:
    def forge(document: Any) -> None:
        holder, key = find(document, path)
        holder[key] = value

    return forge


def add(path: str, number: float) -> Forge:
    def forge(document: Any) -> None:
        holder, key = find(document, path)
        holder[key] += number

    return forge


def drop(path: str) -> Forge:
    def forge(document: Any) -> None:
        holder, key = find(document, path)
        del holder[key]

    return forge


def insert(path: str, *values: Any) -> Forge:
    """Put values in a list before the one at the path, or after all where there is none."""

    def forge(document: Any) -> None:
        holder, at = find(document, path)
        holder[at:at] = values

    return forge


def reverse(path: str) -> Forge:
    def forge(document: Any) -> None:
        holder, key = find(document, path)
        holder[key].reverse()

    return forge


def repeat(at: int) -> Forge:
    return lambda lines: lines.insert(at, copy.deepcopy(lines[at]))


def strike(ply: int, seat: int) -> dict[str, Any]:
    return {"type": "strike", "ply": ply, "seat": seat, "code": "illegal_move", "message": "no"}


def strike_put_in_and_told(lines: Lines) -> None:
    repeat(1)(lines)
    lines[3]["event"]["strikes"].append(0)


def hidden_move(lines: Lines) -> None:
    """So that line and event agree."""
    sealed = lines[7]
    sealed["move"]["choose"] = 1 - sealed["move"]["choose"]
    lines[9]["event"]["moves"][sealed["seat"]] = sealed["move"]


def sealed_late(lines: Lines) -> None:
    lines.insert(6, lines.pop(5))


def sealed_after_three_strikes(lines: Lines) -> None:
    seat = lines[4]["seat"]
    lines[6]["event"]["strikes"] = [seat] * 3
    lines[4:4] = [strike(1, seat)] * 3


def sealed_alone(lines: Lines) -> None:
    line = next(line for line in lines if line["type"] == "ply" and line["event"]["seat"] >= 0)
    event = line["event"]
    sealed = {"type": "sealed", "clock": line["clock"], **{key: event[key] for key in ("ply", "seat", "move")}}
    lines.insert(lines.index(line), sealed)


def moved_alone(lines: Lines) -> None:
    """A round told as a move of one seat."""
    event = lines[6]["event"]
    event |= {"seat": 0, "move": event.pop("moves")[0]}
    del lines[4:6]


def payoffs_where_none_count(lines: Lines) -> None:
    lines[-1] |= {"payoffs": [1.0, 0.0], "rounds": [1, 1]}


def one_round_more(lines: Lines) -> None:
    """The last round, of which chance says that it is, left out with all that follows from it."""
    del lines[-4:-1]
    lines[-1] |= {"plies": lines[-1]["plies"] - 1, "digest": lines[-2]["digest"]}


OTHER_DIE = put("7.event.dice.0.0", 5)
OTHER_DEAL = add("1.event.move.heaps.0", 1)
OTHER_RESULT = put("7.event.result", {"taken": False})
OTHER_NONCE = put("-1.nonces.0", "ab" * 16)
OTHER_HAND = reverse("4.event.move.cards")
OTHER_NOISE = put("12.event.result.played.0", 1)
OTHER_PAYOFF = add("15.event.result.payoffs.0", 1)
LEFT_IN_A_ROUND = put("6.event.out", "resigned")
FORGERIES = [
    ("duel-south-america", OTHER_DIE, 6, {"dice", "digest"}),
    ("nim-dealt", OTHER_DEAL, 0, {"deal", "digest"}),
    ("duel-south-america", put("6.event.move", {"do": "reinforce", "at": 2}), 5, {"digest"}),
    ("duel-south-america", put("6.event.move", {"do": "attack", "from": 3, "to": 0}), 5, {"move"}),
    ("duel-south-america", put("6.event.move", {"do": "reinforce", "at": 2.5}), 5, {"move"}),
    ("duel-south-america", drop("6.event.move"), 5, {"move"}),
    ("duel-south-america", OTHER_RESULT, 6, {"result", "digest"}),
    ("duel-south-america", put("6.event.seat", 0), 5, {"move"}),
    ("duel-south-america", put("9.digest", "0" * 64), 8, {"digest"}),
    ("duel-south-america", drop("6"), 5, {"move"}),
    ("duel-south-america", insert("6", strike(5, 0)), None, {"strikes"}),
    ("duel-south-america", insert("6", *[strike(5, 1)] * 4), 5, {"strikes"}),
    ("campaign-drop-out", put("10.event.out", "illegal"), 9, {"out"}),
    ("duel-strikes", repeat(1), 0, {"strikes"}),
    ("duel-strikes", strike_put_in_and_told, 0, {"digest"}),
    ("duel-strikes", drop("1"), 0, {"strikes"}),
    ("nim-strikes", drop("1.event.strikes"), 0, {"strikes"}),
    ("duel-south-america", put("6.given", 51), 5, {"given"}),
    ("duel-south-america", put("-1.seed", "00" * 32), None, {"seed"}),
    ("duel-south-america", OTHER_NONCE, 0, {"digest"}),
    ("nim-dealt", OTHER_NONCE, 0, {"deal", "digest"}),
    ("duel-south-america", put("0.seats.0.bot", "eve"), 0, {"digest"}),
    ("duel-south-america", reverse("-1.ranks"), None, {"end"}),
    ("duel-ply-limit", reverse("-1.ranks"), None, set()),
    ("duel-south-america", put("-1.reason", "ply_limit"), None, {"end"}),
    ("campaign-late", add("-1.plies", 1), None, {"end"}),
    ("campaign-dice", put("-1.digest", "0" * 64), None, {"digest"}),
    ("campaign-dice", drop("-2"), None, {"end"}),
    ("kuhn-short", OTHER_HAND, 3, {"deal", "digest"}),
    ("kuhn-short", drop("4"), 3, {"deal", "digest"}),
    ("kuhn-short", sealed_alone, 1, {"sealed"}),
    ("leduc-short", add("10.event.move.public", 1), 9, {"deal", "digest"}),
    ("leduc-short", reverse("44.event.result.cards"), 43, {"result", "digest"}),
    ("dilemma-open-end", put("7.move.choose", 1), 2, {"move"}),
    ("dilemma-open-end", hidden_move, 2, {"result", "digest"}),
    ("dilemma-open-end", OTHER_NOISE, 3, {"result", "digest"}),
    ("dilemma-prison", OTHER_PAYOFF, 4, {"result", "digest"}),
    ("dilemma-prison", drop("4"), 1, {"move"}),
    ("dilemma-prison", repeat(4), 1, {"sealed"}),
    ("dilemma-prison", sealed_late, 1, {"move"}),
    ("dilemma-prison", put("4.ply", 2), 1, {"sealed"}),
    ("dilemma-prison", put("4.move", {"choose": 3}), 1, {"sealed"}),
    ("dilemma-prison", sealed_after_three_strikes, 1, {"sealed"}),
    ("dilemma-prison", moved_alone, 1, {"move"}),
    ("dilemma-prison", LEFT_IN_A_ROUND, 1, {"move"}),
    ("dilemma-prison", put("7.given", 51), 2, {"given"}),
    ("dilemma-prison", add("-1.payoffs.1", 0.5), None, {"payoffs"}),
    ("dilemma-late", add("-1.rounds.0", 1), None, {"payoffs"}),
    ("nim-classic", payoffs_where_none_count, None, {"payoffs"}),
    ("dilemma-open-end", one_round_more, None, {"end"}),
]
CHAINED = [
    ("duel-south-america", OTHER_DIE, 6, {"dice"}),
    ("nim-dealt", OTHER_DEAL, 0, {"deal"}),
    ("duel-south-america", OTHER_RESULT, 6, {"result"}),
    ("nim-dealt", OTHER_NONCE, 0, {"deal", "digest"}),
    ("kuhn-short", OTHER_HAND, 3, {"deal"}),
    ("dilemma-open-end", OTHER_NOISE, 3, {"result"}),
    ("dilemma-prison", OTHER_PAYOFF, 4, {"result"}),
    ("dilemma-prison", LEFT_IN_A_ROUND, 1, {"move"}),
]
"""Forgeries after which the forger made the digests follow."""


def test_a_forged_record_is_wrong_where_it_was_forged_and_nowhere_else(check: Checking) -> None:
    for made, forgeries in ((forged, FORGERIES), (chained, CHAINED)):
        for number, (record, forge, index, what) in enumerate(forgeries):
            lines = lines_of(record)
            forge(lines)
            found = set(wrong(check(made(lines))))
            assert found == {(index, step) for step in what}, (made.__name__, number, record)


@pytest.mark.parametrize("forge", ["none", "of the ply before"])
def test_a_digest_without_its_own_salt_is_wrong_at_its_ply(check: Checking, forge: str) -> None:
    lines = lines_of("leduc-short")
    key = key_of(lines)
    before, previous, last = (line for line in lines[-4:-1])
    state = json.loads(forged(lines))["plies"][-1]["state"]
    digests = [bytes.fromhex(line["digest"]) for line in (before, previous)]
    assert next_digest(digests[1], last["event"], state, key).hex() == last["digest"]
    unsalted = next_digest(digests[1], last["event"], state, None)
    reused = next_digest(digests[1], last["event"], state, key, digests[0])
    last["digest"] = lines[-1]["digest"] = (unsalted if forge == "none" else reused).hex()
    steps = check(forged(lines))
    assert wrong(steps) == [(len(lines) - 3, "digest")]


@pytest.mark.parametrize("name", [pytest.param("kuhn-short", marks=pytest.mark.ci), "leduc-short"])
def test_of_every_bet_of_poker_the_possible_ones_alone_are_allowed(check: Checking, name: str) -> None:
    lines = lines_of(name)
    game = load_game(lines[0]["game"], lines[0]["config"])
    states = [ply["state"] for ply in json.loads(forged(lines))["plies"]]
    decisions = [index for index, line in enumerate(lines[1:-1]) if "do" in line["event"]["move"]]
    before = {index: game.decode_state(states[index - 1]) for index in decisions}
    kinds = {repr(state.bets): index for index, state in before.items()}  # one decision after the same bets will do
    for index in kinds.values():
        for do in MOVES:
            other = json.loads(forged(lines))
            del other["plies"][index + 1 :]
            other["plies"][index]["event"]["move"]["do"] = do
            is_allowed = (index, "move") not in wrong(check(json.dumps(other).encode()))
            assert is_allowed == (do in game.legal_moves(before[index])), (index, do)
    assert {len(before[index].bets[-1]) for index in kinds.values()} >= {0, 1, 2}


def test_what_was_hidden_is_told_with_what_chance_made_of_it(check: Checking) -> None:
    steps = check(document_of("dilemma-open-end"))
    (said,) = [step["text"] for step in steps if (step["index"], step["what"]) == (0, "result")]
    assert said.startswith('So {"payoffs":[')
    for purpose in ("noise-0:0:0 = ", "noise-1:0:0 = ", "end:0:0 = "):
        assert purpose in said
    assert said.endswith("it goes on.")
    sealed = [step["text"] for step in steps if (step["index"], step["what"]) == (0, "sealed")]
    assert len(sealed) == 2
    assert all(re.match(r'Seat [12] may choose \{"choose":[01]\}\. The choice stays secret', text) for text in sealed)


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (repeat(4), "it has chosen in this round."),
        (put("4.ply", 2), "the match is at move 2."),
        (put("4.move", {"choose": 3}), "the rules do not allow it, choices are 0 to 1."),
        (sealed_after_three_strikes, "it had its strike number 3."),
        (drop("4"), "had not chosen yet."),
        (add("-1.payoffs.1", 0.5), "the footer says "),
    ],
)
def test_what_is_wrong_in_a_round_is_said_with_what_would_be_right(check: Checking, forge: Forge, said: str) -> None:
    steps = check(document_of("dilemma-prison", forge))
    (text,) = [step["text"] for step in steps if step["ok"] is False]
    assert said in text


def test_a_match_that_was_called_off_in_the_midst_of_a_round_is_found_true(check: Checking) -> None:
    lines = lines_of("dilemma-prison")
    at = next(at for at, line in enumerate(lines) if line["type"] == "ply" and line["event"]["ply"] == 1)
    last = hashlib.sha256(bytes.fromhex(lines[at]["digest"]) + canonical({"strikes": [0]})).hexdigest()
    footer = lines[-1] | {"digest": last, "plies": 2, "reason": "void"}
    footer |= {"ranks": [1, 1], "reasons": ["void", "void"], "payoffs": None, "rounds": None}
    steps = check(forged([*lines[: at + 1], strike(2, 0), lines[at + 1], footer]))
    assert wrong(steps) == []
    assert [step["ply"] for step in steps if step["what"] == "sealed" and step["index"] is None] == [2]


@pytest.mark.parametrize("strikes", [1, 2])
def test_strikes_that_no_event_tells_of_are_in_the_digest_of_a_match_that_was_called_off(
    check: Checking, strikes: int
) -> None:
    table = Table("nim").begin()
    table.play(None)
    table.send(Abort())
    header, refusal, footer = map(json.loads, record_reader.unpack(table.packed(), "m-1").splitlines())
    steps = check(forged([header, *[refusal] * strikes, footer]))
    assert wrong(steps) == ([] if strikes == 1 else [(None, "digest")])


def test_what_is_wrong_is_said_with_what_would_be_right(check: Checking) -> None:
    steps = check(document_of("duel-south-america", OTHER_DIE))
    (step,) = [step for step in steps if step["what"] == "dice" and step["ok"] is False]
    assert step["text"].startswith("The dice are [[6],[3]], the record says [[5],[3]]: attack:6:0 = c574")


def test_a_state_that_the_rules_do_not_give_is_wrong(check: Checking) -> None:
    told = json.loads(document_of("campaign-dice"))
    told["plies"][4]["state"]["troops"][0] += 1
    steps = check(json.dumps(told).encode())
    assert wrong(steps) == [(4, "state")]
    assert steps[-2]["text"].startswith("The state is wrong: troops should be [")


def test_a_match_that_goes_on_is_said_to_be_checked_at_its_end(check: Checking) -> None:
    told = json.loads(document_of("campaign-dice"))
    del told["footer"]
    steps = check(json.dumps(told).encode())
    assert [(step["what"], step["ok"]) for step in steps] == [("scope", None)]


def test_a_digest_that_is_missing_is_said_to_be(check: Checking) -> None:
    document = json.loads(document_of("nim-dealt"))
    del document["plies"][1]["digest"]
    steps = check(json.dumps(document).encode())
    (said,) = [step["text"] for step in steps if (step["index"], step["what"]) == (1, "digest")]
    assert said.endswith("the record says nothing.")


def test_of_a_game_without_rules_here_the_digests_are_checked(check: Checking) -> None:
    told = json.loads(document_of("nim-classic"))
    told["header"]["game"] = "hex"
    steps = check(json.dumps(told).encode())
    assert [(step["what"], step["ok"]) for step in steps[3:6]] == [("scope", None), ("turn", True), ("digest", False)]


def test_a_match_that_was_called_off_before_its_first_turn_is_found_true(check: Checking) -> None:
    header, *_, footer = lines_of("nim-classic")
    digest = first_digest(header, footer).hex()
    footer |= {"ranks": [1, 1], "reason": "void", "reasons": ["void", "void"], "plies": 0, "digest": digest}
    steps = check(forged([header, footer]))
    assert wrong(steps) == []
    assert steps[-2]["text"].startswith("Called off after 0 moves")


def of_unknown_rules(name: str) -> bytes:
    """A true record as a document, under the name of a game whose rules no browser knows."""
    lines = lines_of(name)
    document = json.loads(forged(lines))
    header, footer = document["header"], document["footer"]
    key = key_of(lines) if is_hidden(header) else None
    header["game"] = "hex"
    digest = first_digest(header, footer)
    for line in document["plies"]:
        digest = next_digest(digest, line["event"], line["state"], key)
        line["digest"] = digest.hex()
    footer["digest"] = digest.hex()
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("name", "turns"),
    [
        ("nim-classic", "whose turn it was in {moves} events. "),
        ("kuhn-short", "whose turn it was in {moves} events. "),  # the first deal is in no turn
        ("dilemma-prison", ""),
    ],
)
def test_of_a_game_without_rules_here_a_line_says_what_was_checked_and_that_no_move_was_refereed(
    check: Checking, judge: Judging, name: str, turns: str
) -> None:
    document = of_unknown_rules(name)
    steps = check(document)
    assert wrong(steps) == []
    verdict = judge(document)
    assert verdict["kind"] == "partial"
    plies = [line["event"] for line in lines_of(name) if line["type"] == "ply"]
    moves = sum("moves" not in event for event in plies) - (name == "kuhn-short")
    whose = f", {turns.format(moves=moves)}" if turns else ". "
    assert verdict["text"] == (
        "No move was refereed: this page does not know the rules of hex. Checked: that the seed is the one that was "
        f"committed to, that {len(plies)} digests form a chain{whose}Not checked: moves, dice, the result; "
        f"arena replay verify {name} checks them where the rules are installed."
    )


def test_of_a_game_without_rules_here_digests_and_turns_are_checked(judge: Judging) -> None:
    document = of_unknown_rules("nim-classic")
    forgery, turn = json.loads(document), json.loads(document)
    forgery["plies"][-1]["event"]["move"]["take"] += 1
    turn["plies"][2]["event"]["seat"] = 1 - turn["plies"][2]["event"]["seat"]
    verdicts = [judge(json.dumps(one).encode()) for one in (forgery, turn)]
    assert [verdict["kind"] for verdict in verdicts] == ["bad", "bad"]
    assert "The digest does not follow" in verdicts[0]["text"]
    assert verdicts[1]["text"] == "Wrong at move 3: It was the turn of seat 1 at move 3, not of this event."


def test_digests_are_not_said_to_be_wrong_or_checked_where_the_arena_has_no_rules_and_so_no_states(
    judge: Judging,
) -> None:
    document = json.loads(of_unknown_rules("nim-classic"))
    document["start"] = {}
    for line in document["plies"]:
        line["state"] = None
    seed = json.loads(json.dumps(document))
    seed["footer"]["seed"] = "00" * 32
    verdict, wrong_seed = [judge(json.dumps(one).encode()) for one in (document, seed)]
    assert verdict["kind"] == "partial"
    assert verdict["text"].split(". ")[1:] == [
        "Checked: that the seed is the one that was committed to",
        "Not checked: moves, dice, the result, and digests, because this arena gives no states without the rules; "
        "arena replay verify nim-classic checks them where the rules are installed.",
    ]
    assert wrong_seed["kind"] == "bad"


@pytest.fixture(scope="module")
def own_games() -> dict[str, dict[str, Any]]:
    """The documents of matches of games whose rules neither the browser nor the arena has."""
    return {name: json.loads(as_document(bytes_of(made()))) for name, made in MATCHES.items()}


def test_of_a_game_of_ones_own_seed_digests_turns_draws_and_the_bound_result_are_checked(
    judge: Judging, own_games: dict[str, dict[str, Any]]
) -> None:
    for name, document in own_games.items():
        verdict = judge(json.dumps(document).encode())
        assert verdict["kind"] == "partial", (name, verdict)
        assert verdict["text"].startswith(
            f"No move was refereed: this page does not know the rules of {name}. Checked: "
        )
        assert f"that {len(document['plies'])} digests form a chain" in verdict["text"]
        count = sum("outcome" in (line["event"].get("move") or {}) for line in document["plies"])
        draws = f"{count} {'draw' if count == 1 else 'draws'} of that seed. Not checked: moves, other dice, the result;"
        assert (draws if count else "Not checked: moves, dice, the result;") in verdict["text"]


def test_a_match_that_other_rules_referee_is_said_to_follow_from_others(judge: Judging) -> None:
    lines = lines_of("nim-classic")
    header, *between, footer = lines
    header["rules"] = {"version": "1", "digest": "ab" * 32}
    digest = first_digest(header, footer)
    document = json.loads(document_of("nim-classic"))
    for line, told in zip((line for line in between if line["type"] == "ply"), document["plies"], strict=True):
        digest = next_digest(digest, line["event"], told["state"], None)
        told["digest"] = digest.hex()
    result = {key: footer[key] for key in ("ranks", "reason", "reasons")} | {"payoffs": None}
    document["footer"]["digest"] = hashlib.sha256(digest + canonical({"result": result})).hexdigest()
    document["header"] = header
    verdict = judge(json.dumps(document).encode())
    assert verdict["kind"] == "good", verdict
    assert "the result follow by other rules of nim than the match was made with, without any dice." in verdict["text"]


@pytest.mark.parametrize("number", [2**60, 0.5])
def test_a_number_that_a_browser_cannot_compute_with_is_no_fault_of_the_record(
    judge: Judging, own_games: dict[str, dict[str, Any]], number: float
) -> None:
    document = copy.deepcopy(own_games["onecard"])
    document["plies"][1]["state"]["cards"][0] = number
    verdict = judge(json.dumps(document).encode())
    assert verdict["kind"] == "partial"
    assert "that 2 digests form a chain" in verdict["text"]
    assert "the result, and some digests, because a browser can't compute with their numbers; " in verdict["text"]


@pytest.mark.parametrize(
    ("name", "forge", "what"),
    [
        ("onecard", put("plies.-1.event.move", {"move": "fold"}), "digest"),
        ("onecard", add("plies.-1.state.ply", 1), "digest"),
        ("onecard", add("plies.0.event.move.outcome", 1), "deal"),
        ("onecard", put("plies.1.event.seat", 1), "turn"),
        ("pig", put("plies.1.event.seat", 2), "turn"),
        ("pig", put("header.rules.digest", "ef" * 32), "digest"),
        ("pig", reverse("footer.ranks"), "digest"),
        ("onecard", put("footer.payoffs", [1.0, 1.0]), "digest"),
        ("twentyone", put("footer.reason", "draw"), "digest"),
        ("bids", put("plies.1.sealed.0.move", {"bid": 7}), "sealed"),
        ("pig", drop("strikes.0"), "strikes"),
        ("pig", insert("strikes.1", strike(2, 0)), "strikes"),
    ],
)
def test_whatever_is_changed_in_a_match_of_a_game_of_ones_own_is_found(
    check: Checking, own_games: dict[str, dict[str, Any]], name: str, forge: Forge, what: str
) -> None:
    document = copy.deepcopy(own_games[name])
    forge(document)
    assert wrong(check(json.dumps(document).encode()))[0][1] == what


SAID = {
    "nim-classic": ("Verified: ", "events and the result follow by the rules of nim, without any dice.", ""),
    "duel-south-america": ("Verified: ", "throws and deals of that seed.", ""),
    "campaign-drop-out": ("Verified: ", "by the rules of risk-campaign", "that seat "),
    "nim-strikes": ("Verified: ", "by the rules of nim", "word: 3 strikes for refused moves."),
}


def test_the_verdict_says_what_was_checked_and_what_is_the_arenas_word(judge: Judging) -> None:
    for name, (start, claim, believed) in SAID.items():
        verdict = judge(document_of(name))
        assert verdict["kind"] == "good", name
        assert verdict["text"].startswith(start), name
        assert claim in verdict["text"], name
        assert ("on the arena's word" in verdict["limits"]) == bool(believed), (name, verdict["limits"])
        assert believed in verdict["limits"], verdict["limits"]
        assert lines_of(name)[-1]["digest"][:16] in verdict["limits"], name


def test_a_match_that_goes_on_and_one_that_was_called_off_are_not_said_to_be_more(judge: Judging) -> None:
    under_way = json.loads(document_of("campaign-dice"))
    del under_way["footer"]
    table = Table("nim").begin()
    table.play(None)
    table.send(Abort())
    goes_on, void = judge(json.dumps(under_way).encode()), judge(as_document(table.packed()))
    assert (goes_on["kind"], goes_on["text"][:13]) == ("partial", "Not verified.")
    assert "that the match was called off" in void["limits"]


def test_what_is_wrong_is_the_verdict(judge: Judging) -> None:
    verdict = judge(document_of("duel-south-america", OTHER_DIE))
    assert (verdict["kind"], verdict["text"][:16]) == ("bad", "Wrong at move 7:")
