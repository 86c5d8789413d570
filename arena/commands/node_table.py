"""A table of the nodes of an arena, for `arena node list` and `arena status`."""

from __future__ import annotations

from collections.abc import Sequence

from arena.commands.output import format_minute, format_table
from arena.store.nodes import NodeStatus


def node_table(nodes: Sequence[NodeStatus], width: int) -> list[str]:
    """Return the lines of a table of nodes, at most `width` columns wide."""
    rows = [(node.name, describe_state(node), node.matches, node.url) for node in nodes]
    return format_table(
        ("node", "state", "matches", "url"), rows, wrapped_column=3, left_columns=(0, 1), width=width
    ).split("\n")


def describe_state(node: NodeStatus) -> str:
    """Return a node's state in words and, if the node is gone, since when."""
    return node.state if node.state != "gone" or node.seen is None else f"gone since {format_minute(node.seen)}"
