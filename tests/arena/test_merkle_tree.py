"""The tree of the log against its definition in RFC 9162, 2.1: roots, and proofs that hold for what is there alone."""

from __future__ import annotations

import hashlib

import pytest

from arena.transparency.merkle_tree import (
    HASH_BYTES,
    Growing,
    consistency_path,
    inclusion_path,
    is_continued,
    leaf_hash,
    peaks,
    root,
    root_by_inclusion,
)

MOST = 20
LEAVES = [f"match {number}".encode() for number in range(MOST)]


def by_definition(leaves: list[bytes]) -> bytes:
    """MTH(D[n])."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    return hashlib.sha256(b"\x01" + by_definition(leaves[:k]) + by_definition(leaves[k:])).digest()


ROOTS = [by_definition(LEAVES[:size]) for size in range(MOST + 1)]


@pytest.fixture(scope="module")
def rows() -> list[bytes]:
    """What is kept of each leaf."""
    tree = Growing(0, ())
    return [tree.add(leaf_hash(leaf)) for leaf in LEAVES]


def node(rows: list[bytes], level: int, end: int) -> bytes:
    return rows[end - 1][level * HASH_BYTES : (level + 1) * HASH_BYTES]


def test_the_root_is_that_of_the_definition_at_every_size(rows: list[bytes]) -> None:
    for size, expected in enumerate(ROOTS):
        assert root(size, lambda level, end: node(rows, level, end)) == expected


@pytest.mark.parametrize("size", range(MOST))
def test_a_tree_goes_on_from_its_peaks_as_if_it_had_never_stopped(rows: list[bytes], size: int) -> None:
    tree = Growing(size, [node(rows, *peak) for peak in peaks(size)])
    assert [tree.add(leaf_hash(leaf)) for leaf in LEAVES[size:]] == rows[size:]


def test_a_proof_leads_from_its_leaf_to_the_root_and_from_no_other_leaf_or_place(rows: list[bytes]) -> None:
    for size in range(1, MOST + 1):
        for at in range(size):
            path = inclusion_path(at, size, lambda level, end: node(rows, level, end))
            led = [root_by_inclusion(leaf_hash(LEAVES[leaf]), at, size, path) == ROOTS[size] for leaf in range(size)]
            assert led == [leaf == at for leaf in range(size)]
            assert root_by_inclusion(leaf_hash(LEAVES[at]), at, size, [*path, bytes(32)]) != ROOTS[size]
            assert root_by_inclusion(leaf_hash(LEAVES[at]), at, size, path[1:]) != ROOTS[size] or not path
            elsewhere = [root_by_inclusion(leaf_hash(LEAVES[at]), place, size, path) for place in range(-1, size + 1)]
            assert [found == ROOTS[size] for found in elsewhere] == [place == at for place in range(-1, size + 1)]


def test_a_log_goes_on_from_each_earlier_one_and_from_no_other(rows: list[bytes]) -> None:
    for size in range(1, MOST + 1):
        for earlier in range(1, size + 1):
            path = consistency_path(earlier, size, lambda level, end: node(rows, level, end))
            assert is_continued(earlier, size, ROOTS[earlier], ROOTS[size], path)
            assert not is_continued(earlier, size, bytes(32), ROOTS[size], path)
            assert not is_continued(earlier, size, ROOTS[earlier], bytes(32), path)
            assert not is_continued(earlier, size, ROOTS[earlier], ROOTS[size], [*path, bytes(32)])
            assert not path or not is_continued(earlier, size, ROOTS[earlier], ROOTS[size], path[:-1])
