"""The tree of the log against its definition in RFC 9162, 2.1: roots, and proofs that hold for what is there alone."""

from __future__ import annotations

import hashlib

import pytest

from arena.transparency_log.merkle_tree import (
    HASH_BYTES,
    IncrementalTree,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    peak_positions,
    root_from_inclusion_proof,
    root_hash,
    verify_consistency,
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
    tree = IncrementalTree(0, ())
    return [tree.add(leaf_hash(leaf)) for leaf in LEAVES]


def node(rows: list[bytes], level: int, end: int) -> bytes:
    return rows[end - 1][level * HASH_BYTES : (level + 1) * HASH_BYTES]


def test_the_root_is_that_of_the_definition_at_every_size(rows: list[bytes]) -> None:
    for size, expected in enumerate(ROOTS):
        assert root_hash(size, lambda level, end: node(rows, level, end)) == expected


@pytest.mark.parametrize("size", range(MOST))
def test_a_tree_goes_on_from_its_peaks_as_if_it_had_never_stopped(rows: list[bytes], size: int) -> None:
    tree = IncrementalTree(size, [node(rows, *peak) for peak in peak_positions(size)])
    assert [tree.add(leaf_hash(leaf)) for leaf in LEAVES[size:]] == rows[size:]


def test_a_proof_leads_from_its_leaf_to_the_root_and_from_no_other_leaf_or_place(rows: list[bytes]) -> None:
    for size in range(1, MOST + 1):
        for at in range(size):
            path = inclusion_proof(at, size, lambda level, end: node(rows, level, end))

            def leads(leaf: int, at: int, path: list[bytes], size: int = size) -> bool:
                return root_from_inclusion_proof(leaf_hash(LEAVES[leaf]), at, size, path) == ROOTS[size]

            assert [leads(leaf, at, path) for leaf in range(size)] == [leaf == at for leaf in range(size)]
            assert not leads(at, at, [*path, bytes(32)])
            assert not leads(at, at, path[1:]) or not path
            places = range(-1, size + 1)
            assert [leads(at, place, path) for place in places] == [place == at for place in places]


def test_a_log_goes_on_from_each_earlier_one_and_from_no_other(rows: list[bytes]) -> None:
    for size in range(1, MOST + 1):
        for earlier in range(1, size + 1):
            path = consistency_proof(earlier, size, lambda level, end: node(rows, level, end))
            assert verify_consistency(earlier, size, ROOTS[earlier], ROOTS[size], path)
            assert not verify_consistency(earlier, size, bytes(32), ROOTS[size], path)
            assert not verify_consistency(earlier, size, ROOTS[earlier], bytes(32), path)
            assert not verify_consistency(earlier, size, ROOTS[earlier], ROOTS[size], [*path, bytes(32)])
            assert not path or not verify_consistency(earlier, size, ROOTS[earlier], ROOTS[size], path[:-1])
