"""The dice against a second implementation, written from the description of the protocol alone."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Iterator
from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.dice import NONCE_BYTES, SEED_BYTES, Dice, commitment, match_key, mean_bytes

SEED = bytes(range(32))
NONCES = [bytes(16), b""]
KEY = match_key("m-1", SEED, NONCES)


def stream(key: bytes, purpose: str, ply: int) -> Iterator[int]:
    """The bytes of one event's purpose."""
    for block in count():
        yield from hmac.new(key, f"{purpose}:{ply}:{block}".encode(), hashlib.sha256).digest()


def choices(key: bytes, purpose: str, ply: int, among: int) -> Iterator[int]:
    limit = max(multiple for multiple in range(257) if multiple % among == 0)
    return (byte % among for byte in stream(key, purpose, ply) if byte < limit)


def test_sizes_are_those_of_the_protocol() -> None:
    assert (SEED_BYTES, NONCE_BYTES) == (32, 16)


def test_the_commitment_is_a_hash_of_match_and_seed() -> None:
    assert commitment("m-1", SEED) == hashlib.sha256(b"bot-arena/1/commit" + b"m-1" + SEED).digest()
    assert commitment("m-1", SEED).hex() == "243dd587d5a0cc4aae7acf7d17d419c768761539a03a4611b6dd7a67960d5dc9"
    assert commitment("m-2", SEED) != commitment("m-1", SEED)


def test_the_key_mixes_the_seed_with_every_nonce() -> None:
    mixed = b"bot-arena/1/key" + b"m-1" + b"\x10" + bytes(16) + b"\x00"
    assert match_key("m-1", SEED, NONCES) == hmac.new(SEED, mixed, hashlib.sha256).digest() == KEY
    assert KEY.hex() == "70503090088a2bd2dd4eecc701f6cc7ddfca5e2ec108fbb2397b12eea1d160cd"
    assert match_key("m-1", SEED, [b"", bytes(16)]) != KEY


def test_a_fixed_key_gives_fixed_rolls() -> None:
    dice = Dice(KEY, 3)
    assert [dice.roll("attack") for _ in range(20)] == [4, 4, 2, 1, 1, 2, 1, 6, 2, 5, 3, 3, 2, 3, 1, 3, 4, 5, 2, 2]
    assert Dice(KEY, 0).shuffle("deal", range(10)) == [3, 2, 1, 6, 7, 8, 4, 5, 0, 9]
    assert [dice.choice("big", 1000) for _ in range(5)] == [41, 384, 674, 538, 296]


@given(st.binary(min_size=32, max_size=32), st.integers(0, 10_000), st.integers(1, 256))
def test_choices_agree_with_the_description(key: bytes, ply: int, among: int) -> None:
    dice = Dice(key, ply)
    assert [dice.choice("deal", among) for _ in range(70)] == list(islice(choices(key, "deal", ply, among), 70))


@given(st.binary(min_size=32, max_size=32), st.integers(257, 65536))
def test_a_choice_among_more_than_256_takes_two_bytes(key: bytes, among: int) -> None:
    source = stream(key, "deal", 1)
    pairs = (high * 256 + low for high, low in zip(source, source, strict=False))
    expected = islice((pair % among for pair in pairs if pair < 65536 // among * among), 40)
    dice = Dice(key, 1)
    assert [dice.choice("deal", among) for _ in range(40)] == list(expected)


def test_purposes_and_plies_have_streams_of_their_own() -> None:
    alone = [Dice(KEY, 5).choice("attack", 256)]
    dice = Dice(KEY, 5)
    dice.choice("deal", 256)
    assert [dice.choice("attack", 256)] == alone
    firsts = {tuple(islice(stream(KEY, purpose, ply), 8)) for purpose in ("attack", "deal") for ply in range(50)}
    assert len(firsts) == 100


def test_widths_may_mix_on_one_stream() -> None:
    source = list(islice(stream(KEY, "deal", 0), 64))
    dice = Dice(KEY, 0)
    assert dice.choice("deal", 256) == source[0]
    assert dice.choice("deal", 65536) == source[1] * 256 + source[2]
    for expected in source[3:31]:
        assert dice.choice("deal", 256) == expected
    assert dice.choice("deal", 65536) == source[31] * 256 + source[32], "a number may span two blocks"


@given(st.binary(min_size=32, max_size=32), st.lists(st.integers(1, 300) | st.just(65536), min_size=1, max_size=9))
def test_choices_made_together_are_those_made_one_by_one(key: bytes, among: list[int]) -> None:
    dice, together = Dice(key, 0), Dice(key, 0)
    one_by_one = [[dice.choice("deal", each) for each in among] for _ in range(20)]
    assert list(islice(together.choices("deal", among), 20)) == one_by_one
    assert together.choice("deal", 256) == dice.choice("deal", 256), "a later choice goes on where they ended"


@given(st.binary(min_size=32, max_size=32), st.integers(0, 300))
def test_dice_thrown_together_are_those_thrown_one_by_one(key: bytes, count: int) -> None:
    dice, together = Dice(key, 0), Dice(key, 0)
    assert list(together.roll_many("attack", count)) == [dice.roll("attack") for _ in range(count)]
    assert together.roll("attack") == dice.roll("attack"), "no byte is taken too many"


@pytest.mark.parametrize("among", [1, 6, 129, 256, 257, 40_000])
def test_the_mean_of_bytes_counts_those_that_are_rejected(among: int) -> None:
    span, width = (256, 1) if among <= 256 else (65536, 2)
    accepted = sum(number < span // among * among for number in range(span))
    assert mean_bytes(among) == width * span / accepted


def test_every_order_of_a_shuffle_is_as_likely() -> None:
    dice = Dice(KEY, 9)
    seen = Counter(tuple(dice.shuffle("deal", range(3))) for _ in range(6000))
    assert len(seen) == 6
    assert sum((n - 1000) ** 2 / 1000 for n in seen.values()) < 20.5


def test_a_choice_among_one_is_made_without_a_doubt() -> None:
    assert Dice(KEY, 0).choice("deal", 1) == 0


@pytest.mark.parametrize("among", [0, -1, 65537])
def test_a_choice_among_none_or_too_many_is_refused(among: int) -> None:
    with pytest.raises(ValueError, match="1 to 65536 is possible"):
        Dice(KEY, 0).choice("deal", among)
