"""What the words of several commands mean, said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[Path | None, typer.Option(help="The data folder [ARENA_DATA; ./arena-data].")]
Database = Annotated[str | None, typer.Option(metavar="URL", help="The database [ARENA_DB; DATA/arena.db].")]
