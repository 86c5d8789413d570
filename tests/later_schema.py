"""Databases of older schemas: of the first one, and of the present one where a made-up later revision is known."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from arena.store.schema import SCHEMA_REVISIONS
from arena.store.upgrade import MIGRATIONS_FOLDER

FIRST, LATER = SCHEMA_REVISIONS[-1], "9999"
_UNDO_LOGS = ("DROP TABLE bot_states", "DROP TABLE bot_logs")
_UNDO_PLANS = ("DROP TABLE planned_tournaments", "DROP TABLE entrants", "DROP TABLE bot_activations")
_CHOICE_COLUMNS = ("check_records", "source_file", "source_digest", "chosen_games", "published")
TO_THIRD_SCHEMA = (
    *_UNDO_LOGS,
    *_UNDO_PLANS,
    "DROP TABLE paused_bots",
    *(f"ALTER TABLE bot_versions DROP COLUMN {column}" for column in _CHOICE_COLUMNS),
    f"UPDATE alembic_version SET version_num = '{SCHEMA_REVISIONS[2]}'",
)
"""The statements that take what the revisions after the first one with hosted bots added from a new database."""
TO_FIRST_SCHEMA = (
    *_UNDO_LOGS,
    *_UNDO_PLANS,
    *("DROP TABLE paused_bots", "DROP TABLE bot_versions", "DROP TABLE games"),
    f"UPDATE alembic_version SET version_num = '{SCHEMA_REVISIONS[0]}'",
)
"""The statements that take what later revisions added from a new database."""
_ADD_NICKNAMES = "op.add_column('bots', sa.Column('nickname', sa.Text()))"


def use_later_schema(patch: pytest.MonkeyPatch, folder: Path, *changes: str) -> None:
    """Have one more revision. Its migration, in a new folder, gives bots nicknames and makes `changes`."""
    shutil.copytree(MIGRATIONS_FOLDER, folder)
    (folder / "versions" / f"{LATER}_later.py").write_text(
        "import sqlalchemy as sa\nfrom alembic import op\n"
        f"revision, down_revision, branch_labels, depends_on = {LATER!r}, {FIRST!r}, None, None\n"
        "def upgrade():\n" + "".join(f"    {change}\n" for change in (_ADD_NICKNAMES, *changes))
    )
    patch.setattr("arena.store.upgrade.MIGRATIONS_FOLDER", folder)
    for module in ("store.database", "store.upgrade", "commands.serve"):
        patch.setattr(f"arena.{module}.SCHEMA_REVISIONS", (*SCHEMA_REVISIONS, LATER))
