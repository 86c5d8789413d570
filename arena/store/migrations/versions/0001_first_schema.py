"""Make the tables, indexes and views of the first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from arena.store.dialect import is_postgresql
from arena.store.views import create_views

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_LONG_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_BIG_INTEGER = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
_POOL_OR_UNRATED = sa.text("coalesce(pool, game || '/unrated')")


def upgrade() -> None:
    is_postgres = is_postgresql(op.get_bind())
    op.create_table(
        "actions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", _short_text(32), nullable=False),
        sa.Column("by", _short_text(100), nullable=False),
        sa.Column("do", _short_text(32), nullable=False),
        sa.Column("concerns", _LONG_TEXT, nullable=False),
        sa.Column("more", sa.Integer, nullable=False),
        sa.Column("fault", _LONG_TEXT),
    )
    op.create_table(
        "announcements",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("kind", _short_text(32), nullable=False),
        sa.Column("names", _LONG_TEXT, nullable=False),
        sa.Column("node", sa.Integer),
    )
    op.create_table(
        "archives",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("path", _LONG_TEXT, nullable=False, unique=True),
        sa.Column("records", sa.Integer, nullable=False),
        sa.Column("bytes", _BIG_INTEGER, nullable=False),
    )
    op.create_table(
        "awaiting",
        sa.Column("match", _short_text(40), primary_key=True),
        sa.Column("tournament", _short_text(40), nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("tournament", "place", name="one_awaiting_a_place"),
    )
    op.create_table(
        "bots",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", _short_text(32), nullable=False),
        sa.Column("key", _short_text(32), nullable=False, unique=True),
        sa.Column("token_hash", _short_text(64)),
        sa.Column("revoked", sa.Boolean, nullable=False),
        sa.Column("created", _short_text(32), nullable=False),
        sa.Column("seen", _short_text(32)),
        sa.Column("approved", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("renamed", _short_text(32)),
        sa.Column("person", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("display", _short_text(48)),
    )
    _create_index("bots_with_display", "bots", ["id"], where="display IS NOT NULL")
    op.create_table(
        "counts",
        sa.Column("tournament", _short_text(40), primary_key=True),
        sa.Column("game", _short_text(64), primary_key=True),
        sa.Column("pool", _short_text(128), primary_key=True),
        sa.Column("reason", _short_text(32), primary_key=True),
        sa.Column("matches", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "encounters",
        sa.Column("bot", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("opponent", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("pool", _short_text(128), primary_key=True),
        sa.Column("outcome", _short_text(8), primary_key=True),
        sa.Column("reason", _short_text(32), primary_key=True),
        sa.Column("match", sa.Integer, primary_key=True, autoincrement=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "feed",
        sa.Column("node", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("position", sa.Integer, nullable=False),
    )
    op.create_table(
        "hours",
        sa.Column("hour", _short_text(13), primary_key=True),
        sa.Column("first", sa.Integer, nullable=False),
        sa.Column("last", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "log_keys",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("secret", sa.LargeBinary, nullable=False),
        sa.Column("created", _short_text(32), nullable=False),
    )
    op.create_table(
        "matches",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("id", _short_text(40), nullable=False, unique=True),
        sa.Column("game", _short_text(64), nullable=False),
        sa.Column("config", _LONG_TEXT, nullable=False),
        sa.Column("reason", _short_text(32), nullable=False),
        sa.Column("plies", sa.Integer, nullable=False),
        sa.Column("digest", _short_text(64), nullable=False),
        sa.Column("started", _short_text(32), nullable=False),
        sa.Column("finished", _short_text(32), nullable=False),
        sa.Column("tournament", _short_text(40)),
        sa.Column("place", sa.Integer),
        sa.Column("pool", _short_text(128)),
        sa.Column("luck", sa.Float),
        sa.Column("luck_by", _short_text(32)),
        sa.Column("annulled", _short_text(128)),
        sa.Column("rerated", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("record_bytes", sa.Integer),
        sa.Column("node", sa.Integer),
        sa.Column("archive", sa.Integer),
        sa.UniqueConstraint("tournament", "place", name="one_match_a_place"),
    )
    _create_index("matches_by_archive", "matches", ["archive"], where="archive IS NOT NULL")
    if not is_postgres:
        _create_index("matches_by_ending", "matches", ["game", "pool", "reason", "number"])
    _create_index("matches_by_finish", "matches", ["finished"])
    _create_index("matches_by_game", "matches", ["game", "number"])
    if is_postgres:
        _create_index("matches_by_group", "matches", ["game", _POOL_OR_UNRATED, "reason", "number"])
    _create_index(
        "matches_by_record",
        "matches",
        [sa.text("(coalesce(pool, annulled) IS NULL)"), "finished", "record_bytes"],
        where="record_bytes IS NOT NULL AND tournament IS NULL",
    )
    if not is_postgres:
        _create_index(
            "matches_by_tournament",
            "matches",
            ["tournament", "pool", "reason", "number"],
            where="tournament IS NOT NULL",
        )
    if is_postgres:
        _create_index(
            "matches_of_tournament",
            "matches",
            ["tournament", "game", _POOL_OR_UNRATED, "reason", "number"],
            where="tournament IS NOT NULL",
        )
    op.create_table(
        "nodes",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", _short_text(32), nullable=False, unique=True),
        sa.Column("url", _short_text(200), nullable=False),
        sa.Column("seen", _short_text(32)),
        sa.Column("draining", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("holder", sa.Integer, nullable=False, server_default="0"),
        sa.Column("session", _short_text(64)),
    )
    op.create_table(
        "opponents",
        sa.Column("tournament", _short_text(40), primary_key=True),
        sa.Column("bot", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("pool", _short_text(128), primary_key=True),
        sa.Column("opponent", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("wins", sa.Integer, nullable=False),
        sa.Column("draws", sa.Integer, nullable=False),
        sa.Column("losses", sa.Integer, nullable=False),
        sa.Column("void", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "payoffs",
        sa.Column("tournament", _short_text(40), primary_key=True),
        sa.Column("pool", _short_text(128), primary_key=True),
        sa.Column("season", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("bot", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("opponent", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("matches", sa.Integer, nullable=False),
        sa.Column("rounds", _BIG_INTEGER, nullable=False),
        sa.Column("total", _BIG_INTEGER, nullable=False),
        sa.Column("squares", _BIG_INTEGER, nullable=False),
        sa.Column("products", _BIG_INTEGER, nullable=False),
        sa.Column("rest_squares", _BIG_INTEGER, nullable=False),
        sa.Column("weighted", _BIG_INTEGER, nullable=False),
        sa.Column("round_squares", _BIG_INTEGER, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "rating_decisions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("version", sa.Integer, nullable=False),
    )
    op.create_table(
        "retention_clock",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("looked", _short_text(32), nullable=False),
        sa.Column("steady_since", _short_text(32)),
    )
    op.create_table(
        "seasons",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", _short_text(32), nullable=False),
        sa.Column("key", _short_text(32), nullable=False, unique=True),
        sa.Column("started", _short_text(32), nullable=False),
        sa.Column("first", sa.Integer, nullable=False),
    )
    op.create_table(
        "tallies",
        sa.Column("tournament", _short_text(40), primary_key=True),
        sa.Column("bot", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("pool", _short_text(128), primary_key=True),
        sa.Column("outcome", _short_text(8), primary_key=True),
        sa.Column("reason", _short_text(32), primary_key=True),
        sa.Column("seat", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("matches", sa.Integer, nullable=False),
        sa.Column("moves", _BIG_INTEGER, nullable=False),
        sa.Column("thought_ms", _BIG_INTEGER, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tournaments",
        sa.Column("id", _short_text(40), primary_key=True),
        sa.Column("arguments", _LONG_TEXT, nullable=False),
        sa.Column("seed", _LONG_TEXT, nullable=False),
        sa.Column("started", _short_text(32), nullable=False),
        sa.Column("finished", _short_text(32)),
        sa.Column("stem", _short_text(40)),
        sa.Column("prefix", _short_text(40)),
    )
    op.create_table(
        "versions",
        sa.Column("bot", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("pool", _short_text(128), primary_key=True),
        sa.Column("version", _short_text(64), primary_key=True),
        sa.Column("wins", sa.Integer, nullable=False),
        sa.Column("draws", sa.Integer, nullable=False),
        sa.Column("losses", sa.Integer, nullable=False),
        sa.Column("void", sa.Integer, nullable=False),
        sa.Column("moves", _BIG_INTEGER, nullable=False),
        sa.Column("thought_ms", _BIG_INTEGER, nullable=False),
        sa.Column("last", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    _create_index("versions_by_last", "versions", ["bot", "last"])
    op.create_table(
        "wake_channel",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", _short_text(63), nullable=False),
    )
    op.create_table(
        "failures",
        sa.Column("match", sa.Integer, sa.ForeignKey("matches.number"), primary_key=True),
        sa.Column("seat", sa.Integer, primary_key=True),
        sa.Column("text", _LONG_TEXT, nullable=False),
    )
    op.create_table(
        "incidents",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("bot", sa.Integer, sa.ForeignKey("bots.id"), nullable=False),
        sa.Column("at", _short_text(32), nullable=False),
        sa.Column("code", _short_text(32), nullable=False),
        sa.Column("text", _LONG_TEXT, nullable=False),
    )
    _create_index("incidents_by_bot", "incidents", ["bot", "id"])
    op.create_table(
        "match_log",
        sa.Column("number", sa.Integer, sa.ForeignKey("matches.number"), primary_key=True),
        sa.Column("hashes", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "ratings",
        sa.Column("bot", sa.Integer, sa.ForeignKey("bots.id"), primary_key=True),
        sa.Column("pool", _short_text(128), primary_key=True),
        sa.Column("mu", sa.Float, nullable=False),
        sa.Column("sigma", sa.Float, nullable=False),
        sa.Column("matches", sa.Integer, nullable=False),
        sa.Column("wins", sa.Integer, nullable=False),
        sa.Column("draws", sa.Integer, nullable=False),
        sa.Column("losses", sa.Integer, nullable=False),
        sa.Column("version", _short_text(64), nullable=False),
    )
    _create_index("ratings_by_pool", "ratings", ["pool", "mu", "sigma"])
    op.create_table(
        "records",
        sa.Column("match", sa.Integer, sa.ForeignKey("matches.number"), primary_key=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "seats",
        sa.Column("match", sa.Integer, sa.ForeignKey("matches.number"), primary_key=True),
        sa.Column("seat", sa.Integer, primary_key=True),
        sa.Column("bot", sa.Integer, sa.ForeignKey("bots.id"), nullable=False),
        sa.Column("version", _short_text(64), nullable=False),
        sa.Column("rank", sa.Integer, nullable=False),
        sa.Column("reason", _short_text(32), nullable=False),
        sa.Column("mu_before", sa.Float),
        sa.Column("sigma_before", sa.Float),
        sa.Column("mu_after", sa.Float),
        sa.Column("sigma_after", sa.Float),
        sa.Column("moves", sa.Integer),
        sa.Column("thought_ms", sa.Integer),
        sa.Column("pool", _short_text(128), nullable=False, server_default=""),
        sa.Column("outcome", _short_text(8), nullable=False, server_default=""),
        sa.Column("tournament", _short_text(40)),
        sa.Column("played", sa.Integer),
        sa.Column("payoff", sa.Float),
        sa.Column("rounds", sa.Integer),
    )
    _create_index("seats_by_bot", "seats", ["bot", "match"])
    _create_index("seats_by_ending", "seats", ["bot", "pool", "outcome", "reason", "match"])
    _create_index("seats_by_played", "seats", ["bot", "pool", "played", "mu_after"], where="played IS NOT NULL")
    _create_index(
        "seats_by_tournament",
        "seats",
        ["tournament", "bot", "pool", "outcome", "reason", "match"],
        where="tournament IS NOT NULL",
    )
    op.create_table(
        "under_way",
        sa.Column("match", _short_text(40), primary_key=True),
        sa.Column("node", sa.Integer, sa.ForeignKey("nodes.id"), nullable=False),
        sa.Column("header", _LONG_TEXT, nullable=False),
        sa.Column("secret", _short_text(64), nullable=False),
        sa.Column("bots", _LONG_TEXT, nullable=False),
    )
    _create_index("under_way_by_node", "under_way", ["node"])
    create_views(op.get_bind())


def _short_text(max_characters: int) -> sa.types.TypeEngine[str]:
    return sa.String(max_characters).with_variant(sa.Text(collation="C"), "postgresql")


def _create_index(name: str, table: str, columns: list[str | sa.TextClause], where: str | None = None) -> None:
    condition = None if where is None else sa.text(where)
    op.create_index(name, table, columns, sqlite_where=condition, postgresql_where=condition)
