"""Mark the first schema. No migration leads to it: an older database has at least its tables."""

from __future__ import annotations

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change nothing."""
