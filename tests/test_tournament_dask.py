"""`arena tournament --dask`: the matches of a tournament refereed by the workers of a real cluster."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed")
NIM = ["random", "greedy", "perfect", "--game", "nim", "--rounds", "4", "--seed", "3"]
