"""Bots for Kuhn poker and for the dilemma with noise, written from docs/protocol.md and docs/rules.md alone.

While a match goes on they check that they see what they may and nothing else. When the seed is known they deal every
hand and toss every coin again, and with them recompute the whole chain of digests: what was hidden had been fixed.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from typing import Any

from websockets.asyncio.client import ClientConnection

from independent_client import Client, Map, Match, canonical, choice, sha256, stream_of


def among(stream: Iterator[int], m: int) -> int:
    while True:
        number = next(stream) * 256 + next(stream)
        if number < 65536 - 65536 % m:
            return number % m


class Kuhn:
    """The rules, as far as one needs them who knows all cards."""

    def __init__(self, config: Map) -> None:
        self.hands = config["hands"]

    def whole(self, state: Map | None, event: Map, key: bytes) -> tuple[Map, Map]:
        if state is None:
            state = {"hand": 0, "chips": [0, 0], "cards": None, "public": None, "bets": [""], "paid": [1, 1]}
            state |= {"to_move": -1, "ply": 0}
        assert event["ply"] == state["ply"]
        if "out" in event:
            return event, state
        after = {**state, "ply": state["ply"] + 1}
        if event["seat"] == -1:
            stream, deck = stream_of(key, "deal", event["ply"]), [0, 1, 2]
            for i in (2, 1):
                j = choice(stream, i + 1)
                deck[i], deck[j] = deck[j], deck[i]
            return {**event, "move": {"cards": deck[:2]}}, {**after, "cards": deck[:2], "to_move": state["hand"] % 2}
        seat, done = event["seat"], event["move"]["do"]
        assert seat == state["to_move"]
        bets = state["bets"][0] + {"check": "k"}.get(done, done[0])
        paid = list(state["paid"])
        if done in ("bet", "call"):
            paid[seat] += 1
        if bets not in ("kk", "bc", "bf", "kbc", "kbf"):
            return event, {**after, "bets": [bets], "paid": paid, "to_move": 1 - seat}
        cards = state["cards"]
        winner = 1 - seat if done == "fold" else int(cards[1] > cards[0])
        lost = paid[1 - winner]
        chips = [had + (lost if at == winner else -lost) for at, had in enumerate(state["chips"])]
        result = {"won": winner, "chips": lost, **({} if done == "fold" else {"cards": cards})}
        assert event["result"] == result
        hand = state["hand"] + 1
        after |= {"hand": hand, "chips": chips, "cards": None, "bets": [""], "paid": [1, 1]}
        return event, {**after, "to_move": None if hand == self.hands else -1}

    def seen(self, state: Map, seat: int) -> Map:
        if state["cards"] is None:
            return state
        return {**state, "cards": [card if at == seat else None for at, card in enumerate(state["cards"])]}


class Dilemma:
    """The rules with noise and a coin for the end, of two choices each."""

    def __init__(self, config: Map) -> None:
        self.config = config
        self.noise, self.go_on = (round(float(config[name]) * 10_000) for name in ("noise", "go_on"))

    def whole(self, state: Map | None, event: Map, key: bytes) -> tuple[Map, Map]:
        """An event with what the other meant to play, and the state after it."""
        state = state or {"payoffs": [0, 0], "last": None, "to_move": [0, 1], "ply": 0}
        if "out" in event:
            return event, state
        assert (event["ply"], event["seat"]) == (state["ply"], -1)
        played = event["result"]["played"]
        meant = []
        for seat in (0, 1):
            changed = among(stream_of(key, f"noise-{seat}", event["ply"]), 10_000) < self.noise
            meant.append({"choose": 1 - played[seat] if changed else played[seat]})
        got = self.config["payoffs"][played[0]][played[1]]
        assert event["result"] == {"payoffs": got, "played": played}
        rounds = event["ply"] + 1
        over = rounds == self.config["rounds"] or among(stream_of(key, "end", event["ply"]), 10_000) >= self.go_on
        payoffs = [had + more for had, more in zip(state["payoffs"], got, strict=True)]
        assert all(told in (None, move) for told, move in zip(event["moves"], meant, strict=True))
        return {**event, "moves": meant}, {
            "payoffs": payoffs,
            "last": played,
            "to_move": None if over else [0, 1],
            "ply": rounds,
        }

    def seen(self, state: Map, seat: int) -> Map:
        return state


class HiddenMatch(Match):
    """A match of which the digests can be checked in the end alone."""

    def __init__(self, start: Map) -> None:
        super().__init__(start)
        self.told: list[tuple[int, Map]] = []
        """How many events had been told, and the turn or end that told the last of them."""

    def hear(self, told: Map) -> None:
        if self.nonces is None:
            self._open(told["nonces"])
        for event in told["events"]:
            known = [(one["ply"], "out" in one) for one in self.events]
            if (event["ply"], "out" in event) not in known:
                self.events.append(event)
            elif told["type"] == "end":
                self.events[known.index((event["ply"], "out" in event))] = event
        self.told.append((len(self.events), told))

    def check(self, end: Map) -> None:
        seed, match = bytes.fromhex(end["seed"]), self.id.encode("ascii")
        assert sha256(b"bot-arena/1/commit", match, seed).hex() == self.start["commitment"]
        nonces = b"".join(bytes([len(nonce) // 2]) + bytes.fromhex(nonce) for nonce in end["nonces"])
        key = hmac.digest(seed, b"bot-arena/1/key" + match + nonces, "sha256")
        rules: Any = {"kuhn": Kuhn, "dilemma": Dilemma}[self.start["game"]](self.start["config"])
        seat, state = self.start["seat"], None
        digests, states = [self.digest], [None]
        for event in self.events:
            whole, state = rules.whole(state, event, key)
            salt = hmac.digest(key, b"bot-arena/1/salt" + digests[-1], "sha256")
            digests.append(sha256(digests[-1], salt, canonical({"event": whole, "state": state})))
            states.append(state)
        for count, told in self.told:
            assert digests[count].hex() == told["digest"]
            if told["type"] == "turn" and count:
                assert rules.seen(states[count], seat) == told["state"]
        assert state == end["state"]


class HiddenClient(Client):
    """Plays Kuhn poker, or the dilemma with noise, at random."""

    match_of = HiddenMatch

    def __init__(self, url: str, bot: str, subprotocol: str, game: str, config: Map, *, cut: str = "") -> None:
        super().__init__(url, bot, subprotocol, config, cut=cut)
        self.game = game

    async def on_turn(self, socket: ClientConnection, turn: Map) -> None:
        match = self.matches[turn["match"]]
        match.hear(turn)
        seat = match.start["seat"]
        if self.game == "kuhn":
            cards = turn["state"]["cards"]
            assert cards[1 - seat] is None
            assert cards[seat] in (0, 1, 2)
        else:
            assert turn["to_move"] == [0, 1]
            assert all(event["moves"][1 - seat] is None for event in turn["events"])
        if self.cut == "before" and not match.cut:
            match.cut = True
            socket.transport.abort()
            return
        await self.move(socket, turn, self.chance.choice(turn["legal"]))
        if self.cut == "after" and not match.cut:
            match.cut = True
            await (await socket.ping())
            socket.transport.abort()
