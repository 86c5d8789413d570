"""An append-only Merkle tree: its root, and proofs of inclusion and consistency. Source: B. Laurie, E. Messeri, R.
Stradling, Certificate Transparency Version 2.0, RFC 9162, section 2.1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

HASH_BYTES = 32
"""The length of a hash of the tree, SHA-256."""
NodeHash = Callable[[int, int], bytes]
"""A function `node(level, end)`: the hash of the 2**level leaves before leaf `end`, a multiple of 2**level."""


def leaf_hash(entry: bytes) -> bytes:
    """Return the hash of the leaf that holds an entry."""
    return hashlib.sha256(b"\0" + entry).digest()


def _parent_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


def peak_positions(size: int) -> list[tuple[int, int]]:
    """Return the (level, end) of each maximal complete subtree of a tree with `size` leaves, from the left. The subtree
    has the 2**level leaves before leaf `end`.
    """
    found, end = [], 0
    for level in range(size.bit_length() - 1, -1, -1):
        if size >> level & 1:
            end += 1 << level
            found.append((level, end))
    return found


class IncrementalTree:
    """A Merkle tree to which leaves are appended. It does not need the leaves that the tree has at first, only their
    number `size` and the hashes of the subtrees at `peak_positions(size)`.
    """

    def __init__(self, size: int, hashes: Sequence[bytes]) -> None:
        self.size = size
        self._peaks = list(hashes)

    def add(self, leaf: bytes) -> bytes:
        """Append a leaf by its hash. Return that hash and those of the subtrees that it completes, smallest first."""
        hashes = [leaf]
        level = 0
        while self.size >> level & 1:
            hashes.append(_parent_hash(self._peaks.pop(), hashes[-1]))
            level += 1
        self._peaks.append(hashes[-1])
        self.size += 1
        return b"".join(hashes)


def root_hash(size: int, node: NodeHash) -> bytes:
    """Return the root of a tree with `size` leaves."""
    return _subtree_hash(0, size, node) if size else hashlib.sha256().digest()


def _subtree_hash(start: int, end: int, node: NodeHash) -> bytes:
    size = end - start
    if size & (size - 1) == 0:
        return node(size.bit_length() - 1, end)
    middle = start + _left_size(size)
    return _parent_hash(_subtree_hash(start, middle, node), _subtree_hash(middle, end, node))


def _left_size(size: int) -> int:
    """Return the number of leaves in the left subtree: the largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def inclusion_proof(index: int, size: int, node: NodeHash) -> list[bytes]:
    """Return the hashes that prove that leaf `index`, counted from 0, is in a tree with `size` leaves."""
    start, end, path = 0, size, []
    while end - start > 1:
        middle = start + _left_size(end - start)
        if index < middle:
            path.append(_subtree_hash(middle, end, node))
            end = middle
        else:
            path.append(_subtree_hash(start, middle, node))
            start = middle
    return path[::-1]


def consistency_proof(earlier: int, size: int, node: NodeHash) -> list[bytes]:
    """Return the hashes that prove that a tree with `size` leaves extends the tree of its first `earlier` leaves."""
    start, end, path, whole = 0, size, [], True
    while end != earlier:
        middle = start + _left_size(end - start)
        if earlier <= middle:
            path.append(_subtree_hash(middle, end, node))
            end = middle
        else:
            path.append(_subtree_hash(start, middle, node))
            start, whole = middle, False
    if not whole:
        path.append(_subtree_hash(start, end, node))
    return path[::-1]


def root_from_inclusion_proof(leaf: bytes, at: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root that an inclusion proof gives for leaf `at`; None if leaf or proof does not fit the size."""
    if not 0 <= at < size:
        return None
    last, found = size - 1, leaf
    for sibling in path:
        if last == 0:
            return None
        if at & 1 or at == last:
            found = _parent_hash(sibling, found)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            found = _parent_hash(found, sibling)
        at, last = at >> 1, last >> 1
    return found if last == 0 else None


def verify_consistency(earlier: int, size: int, earlier_root: bytes, later_root: bytes, path: Sequence[bytes]) -> bool:
    """Return whether a proof by `consistency_proof` shows that the later tree extends the earlier one."""
    if not 0 < earlier <= size or (earlier == size and path):
        return False
    if earlier == size:
        return earlier_root == later_root
    hashes = list(path)
    if earlier & (earlier - 1) == 0:
        hashes.insert(0, earlier_root)
    if not hashes:
        return False
    at, last = earlier - 1, size - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    old = new = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            old, new = _parent_hash(sibling, old), _parent_hash(sibling, new)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            new = _parent_hash(new, sibling)
        at, last = at >> 1, last >> 1
    return old == earlier_root and new == later_root and last == 0
