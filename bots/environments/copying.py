"""Deep copies of environments: `copy.copy`, `copy.deepcopy` and `pickle` all make an independent environment."""

from __future__ import annotations

import copy
from typing import Self


class DeepCopied:
    """A base class that makes `copy.copy` a deep copy, because a shallow copy would share arrays with the original."""

    def __copy__(self) -> Self:
        return copy.deepcopy(self)
