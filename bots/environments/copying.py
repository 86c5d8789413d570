"""Deep copies of environments: `copy.copy`, `copy.deepcopy` and `pickle` all make an independent environment."""

from __future__ import annotations

import copy
from typing import Self


class DeepCopied:
    """A class whose `copy.copy` makes a deep copy. A shallow copy would share arrays and mix up both games."""

    def __copy__(self) -> Self:
        return copy.deepcopy(self)
