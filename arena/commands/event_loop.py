"""How commands run their event loop: uvloop where it exists, and a garbage collector that does not get in the way."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
YOUNG = 50_000
"""Objects made before the collector looks; what a match leaves behind has no cycles and goes by itself."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` in a loop of its own, as `asyncio.run` does."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 20)
    with asyncio.Runner(loop_factory=_factory()) as runner:
        return runner.run(main)


def _factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
