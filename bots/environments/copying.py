"""Copies of environments: `copy.copy`, `copy.deepcopy` and `pickle` all give one that plays on by itself."""

from __future__ import annotations

import copy
from typing import Self


class CopiedWhole:
    """A class whose `copy.copy` is a deep copy. One that shared arrays with the original would mix up both games."""

    def __copy__(self) -> Self:
        return copy.deepcopy(self)
