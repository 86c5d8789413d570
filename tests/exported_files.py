"""Golden records, forged or not, as `arena replay export` makes files of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from commands import call
from golden import make


def exported(name: str, folder: Path, forge: Callable[[list[Any]], None] = lambda lines: None) -> Path:
    """The file of a golden record, forged or not."""
    lines = [json.loads(line) for line in make.HERE.joinpath(f"{name}.jsonl").read_bytes().splitlines()]
    forge(lines)
    record, page = folder / f"{name}.jsonl", folder / f"{name}.html"
    record.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = call("arena", "replay", "export", str(record), "--to", str(page))
    assert (done.code, done.err) == (0, "")
    return page
