"""Both Risk games written a second time, from docs/rules.md and docs/protocol.md alone: every die, state and digest of
a record follows. Nothing of this project is imported but what makes and reads the records.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from typing import Any

import pytest

from golden.make import GOLDEN, HERE, Golden, make
from independent_client import canonical, choice, sha256, stream_of
from volumes import examples

Map = dict[str, Any]
SEVERAL = {
    "duel": Golden("risk-duel", {"max_troops": 4, "max_plies": 60}),
    "duel-large": Golden("risk-duel", {"map": "world", "max_plies": 120}),
    "campaign": Golden("risk-campaign", {"map": "north-america", "max_attacks": 2, "initial_units": 3}),
    "classic": Golden("risk-campaign", {"map": "world", "players": 4, "draft": "classic", "max_rounds": 15}, seats=4),
    "leaving": Golden("risk-campaign", {"map": "asia", "players": 3, "draft": "classic"}, 3, leaves=30, leaver=2),
    "late": Golden("risk-campaign", {"map": "africa", "players": 4, "max_rounds": 20}, seats=4, late=6),
    "deterministic": Golden("risk-campaign", {"battle": "deterministic", "deal": "ab" * 16, "max_rounds": 30}),
}


def die(stream: Iterator[int]) -> int:
    return choice(stream, 6) + 1


class Duel:
    """Bounded Risk."""

    def __init__(self, config: Map, key: bytes) -> None:
        self.config, self.key = config, key
        count = len(config["map"]["territories"])
        self.owner, self.troops, self.ply, self.seat = [-1] * count, [0] * count, 0, 0

    @property
    def state(self) -> Map:
        won = self.owner[0] >= 0 and len(set(self.owner)) == 1
        over = won or self.ply == self.config["max_plies"]
        return {"owner": self.owner, "troops": self.troops, "to_move": None if over else self.seat, "ply": self.ply}

    def hear(self, event: Map) -> None:
        if "out" in event:
            return
        move = event["move"]
        assert event["seat"] == self.state["to_move"]
        assert (move["do"] == "invade") == (-1 in self.owner)
        told = {"dice": event.get("dice"), "result": event.get("result")}
        assert told == (self.attack(move["from"], move["to"]) if move["do"] == "attack" else self.place(move))
        self.ply += 1
        self.seat = 1 - self.seat

    def place(self, move: Map) -> Map:
        if move["do"] == "invade":
            assert self.owner[move["to"]] == -1
            self.owner[move["to"]], self.troops[move["to"]] = self.seat, 3
        else:
            assert self.owner[move["at"]] == self.seat
            assert self.troops[move["at"]] < self.config["max_troops"]
            self.troops[move["at"]] = min(self.troops[move["at"]] + 2, self.config["max_troops"])
        return {"dice": None, "result": None}

    def attack(self, source: int, to: int) -> Map:
        assert sorted((source, to)) in self.config["map"]["borders"]
        assert (self.owner[source], self.owner[to]) == (self.seat, 1 - self.seat)
        assert self.troops[source] >= self.troops[to]
        stream = stream_of(self.key, "attack", self.ply)
        attacker, defender = die(stream), die(stream)
        if attacker > defender:
            self.owner[to], self.troops[to] = self.seat, 1
        else:
            self.troops[source] -= self.troops[to]
            self.owner[source] = self.seat if self.troops[source] else -1
        return {"dice": [[attacker], [defender]], "result": {"taken": attacker > defender}}

    def ranks(self) -> list[int]:
        seats = [1 if set(self.owner) == {seat} else 2 for seat in (0, 1)]
        return seats if 1 in seats else [1, 1]


class Campaign:
    """Draft-and-attack Risk."""

    def __init__(self, config: Map, key: bytes) -> None:
        self.config, self.key = config, key
        self.continents = [place["continent"] for place in config["map"]["territories"]]
        count, self.seats, self.rounds = len(self.continents), int(config["players"]), int(config["max_rounds"])
        drawn = stream_of(key, "deal", 0)
        given = config["deal"]
        shuffle = stream_of(bytes.fromhex(given) if given else bytes(next(drawn) for _ in range(16)), "deal", 0)
        cards = list(range(count))
        for i in range(count - 1, 0, -1):
            j = choice(shuffle, i + 1)
            cards[i], cards[j] = cards[j], cards[i]
        self.owner = [cards.index(territory) % self.seats for territory in range(count)]
        self.troops = [config["initial_units"]] * count
        self.out: list[int] = []
        self.seat, self.round, self.ply = 0, 1, 0
        self.begin()

    def begin(self) -> None:
        self.phase, self.attacks_left = "draft", self.config["max_attacks"]
        owned = self.owner.count(self.seat)
        self.units = owned
        if self.config["draft"] == "classic":
            self.units = max(3, owned // 3)
            for number, continent in enumerate(self.config["map"]["continents"]):
                owners = {owner for owner, of in zip(self.owner, self.continents, strict=True) if of == number}
                self.units += continent["bonus"] if owners == {self.seat} else 0

    @property
    def over(self) -> bool:
        return len(self.out) >= self.seats - 1 or self.round > self.rounds

    @property
    def state(self) -> Map:
        fields = ("owner", "troops", "phase", "units", "attacks_left", "round", "out", "ply")
        return {**{name: getattr(self, name) for name in fields}, "to_move": None if self.over else self.seat}

    def hear(self, event: Map) -> None:
        if event["seat"] < 0:
            assert event["move"] == {"owner": self.owner}
            self.ply = 1
        elif "out" in event:
            self.leave(event["seat"])
        else:
            self.played(event)

    def played(self, event: Map) -> None:
        move = event["move"]
        assert event["seat"] == self.state["to_move"]
        assert (move["do"] == "draft") == (self.phase == "draft")
        told = {"dice": event.get("dice"), "result": event.get("result")}
        if move["do"] == "attack":
            assert told == self.attack(move["from"], move["to"], move["units"])
        else:
            assert told == {"dice": None, "result": None}
            if move["do"] == "draft":
                self.draft(move["units"])
            else:
                self.turn_over()
        self.ply += 1

    def draft(self, units: list[list[int]]) -> None:
        assert sum(number for _, number in units) == self.units
        assert [at for at, _ in units] == sorted({at for at, _ in units})
        for at, number in units:
            assert self.owner[at] == self.seat
            assert number >= 1
            self.troops[at] += number
        self.phase, self.units = "attack", 0

    def attack(self, source: int, to: int, units: int) -> Map:
        assert sorted((source, to)) in self.config["map"]["borders"]
        assert self.owner[source] == self.seat != self.owner[to]
        assert 1 <= units < self.troops[source]
        loser = self.owner[to]
        attackers, defenders, dice = self.fight(units, self.troops[to])
        self.troops[source] -= units
        self.troops[to] = attackers or defenders
        if attackers:
            self.owner[to] = self.seat
            if loser not in self.owner and loser not in self.out:
                self.out.append(loser)
        self.attacks_left -= 1
        if self.attacks_left == 0 and not self.over:
            self.turn_over()
        return {"dice": dice, "result": {"taken": attackers > 0, "attackers": attackers, "defenders": defenders}}

    def fight(self, attackers: int, defenders: int) -> tuple[int, int, list[list[int]] | None]:
        if self.config["battle"] == "deterministic":
            won = attackers > defenders
            return (attackers - defenders, 0, None) if won else (0, max(1, defenders - attackers), None)
        stream, dice = stream_of(self.key, "attack", self.ply), []
        while attackers and defenders:
            high = [die(stream) for _ in range(min(3, attackers))]
            low = [die(stream) for _ in range(min(2, defenders))]
            dice += [high, low]
            for ours, theirs in zip(sorted(high)[::-1], sorted(low)[::-1], strict=False):
                attackers -= ours <= theirs
                defenders -= ours > theirs
        return attackers, defenders, dice[:1000]

    def leave(self, seat: int) -> None:
        if self.seats > 2 and seat not in self.out:
            self.out.append(seat)
            if seat == self.seat:
                self.turn_over()

    def turn_over(self) -> None:
        before = self.seat
        while True:
            self.seat = (self.seat + 1) % self.seats
            if self.seat not in self.out:
                break
        self.round += self.seat <= before
        self.begin()

    def ranks(self) -> list[int]:
        def holding(seat: int) -> tuple[int, int]:
            return self.owner.count(seat), sum(
                units for units, owner in zip(self.troops, self.owner, strict=True) if owner == seat
            )

        staying = [seat for seat in range(self.seats) if seat not in self.out]
        ranks = {seat: 1 + sum(holding(other) > holding(seat) for other in staying) for seat in staying}
        ranks |= {seat: self.seats - place for place, seat in enumerate(self.out)}
        return [ranks[seat] for seat in range(self.seats)]


def lines_of(data: bytes) -> list[Map]:
    return [json.loads(line) for line in data.splitlines()]


def again(record: list[Map]) -> list[Map]:
    """The lines of a record with commitment, digests and, of a game that was played out, ranks as they should be."""
    header, *lines, footer = record
    seed, match = bytes.fromhex(footer["seed"]), header["match"].encode()
    header = {**header, "commitment": sha256(b"bot-arena/1/commit", match, seed).hex()}
    mixed = b"".join(bytes([len(nonce) // 2]) + bytes.fromhex(nonce) for nonce in footer["nonces"])
    key = hmac.digest(seed, b"bot-arena/1/key" + match + mixed, "sha256")
    rules: type[Duel] | type[Campaign] = Duel if header["game"] == "risk-duel" else Campaign
    game = rules(header["config"], key)
    opening = {name: header[name] for name in ("match", "game", "config", "commitment")}
    opening |= {"seats": [seat["bot"] for seat in header["seats"]], "nonces": footer["nonces"]}
    digest = sha256(b"bot-arena/1/digest", canonical(opening))
    followed = []
    for line in lines:
        if line["type"] == "strike":
            followed.append(line)
            continue
        game.hear(line["event"])
        digest = sha256(digest, canonical({"event": line["event"], "state": game.state}))
        followed.append({**line, "digest": digest.hex()})
    ranks = game.ranks() if game.state["to_move"] is None else footer["ranks"]
    return [header, *followed, {**footer, "digest": digest.hex(), "ranks": ranks}]


@pytest.mark.parametrize("name", [name for name, golden in GOLDEN.items() if golden.game.startswith("risk")])
def test_a_golden_record_of_risk_follows_from_the_documents(name: str) -> None:
    record = lines_of(HERE.joinpath(f"{name}.jsonl").read_bytes())
    assert again(record) == record


@pytest.mark.parametrize("name", SEVERAL)
def test_any_match_of_risk_follows_from_the_documents(name: str) -> None:
    records = [lines_of(make(f"{name}-{i}", SEVERAL[name])) for i in range(examples(2, nightly=10))]
    assert sum(len(record) - 2 for record in records) > 10 * len(records), "events, between header and footer"
    for record in records:
        assert again(record) == record
