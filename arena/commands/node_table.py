"""A table of the nodes of an arena, which two commands print."""

from __future__ import annotations

from collections.abc import Sequence

from arena.commands.output import minute, table
from arena.store.nodes import Node


def node_table(nodes: Sequence[Node], width: int) -> list[str]:
    """Return the lines of the table, within `width` columns."""
    rows = [(node.name, state_of(node), node.matches, node.url) for node in nodes]
    return table(("node", "state", "matches", "url"), rows, elastic=3, left=(0, 1), width=width).split("\n")


def state_of(node: Node) -> str:
    """Return a node's state and, if it is gone, since when."""
    return node.state if node.state != "gone" or node.seen is None else f"gone since {minute(node.seen)}"
