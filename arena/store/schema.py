"""The tables of the database, and the marks by which an arena recognises its database. A change of the tables needs a
revision of the schema, with a migration that makes the same change in older databases; tests compare the two results.
"""

from __future__ import annotations

import hashlib

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TextClause,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.types import TypeEngine

APPLICATION_ID = 0x626F7461
"""The application id ("bota") in the header of an arena's SQLite file."""
SCHEMA_MARK = "Bot Arena"
"""The comment that marks the schemas of an arena on PostgreSQL."""
SCHEMA_REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007")
"""The revisions of the schema, oldest first. Each but the first has a migration that leads to it."""

metadata = MetaData()
BigIntegerType = Integer().with_variant(BigInteger, "postgresql")
"""A column type for integers that may exceed 2**31, for which PostgreSQL has a separate type."""
ByteOrderedText = Text().with_variant(Text(collation="C"), "postgresql")
"""A column type for text that sorts by bytes, as it does in SQLite."""


def _short_text(max_characters: int) -> TypeEngine[str]:
    """Return a column type for short text that sorts by bytes. Writers must check its length: the database does not."""
    return String(max_characters).with_variant(Text(collation="C"), "postgresql")


def _partial(name: str, *columns: str | TextClause, where: str) -> Index:
    """Return a partial index. On PostgreSQL it is partial only after `enable_partial_indexes_on_postgresql`."""
    return Index(name, *columns, sqlite_where=text(where))


_POOL_OR_UNRATED = text("coalesce(pool, game || '/unrated')")
"""The SQL expression, for an index, of a match's pool or GAME/unrated. An index on pools would miss nulls."""

bots = Table(
    "bots",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", _short_text(32), nullable=False),
    Column("key", _short_text(32), nullable=False, unique=True, comment="the name in lower case"),
    Column("token_hash", _short_text(64), comment="SHA-256; null where no token was ever given"),
    Column("revoked", Boolean, nullable=False),
    Column("created", _short_text(32), nullable=False),
    Column("seen", _short_text(32), comment="when it last came in; null: it never did"),
    Column("approved", Boolean, nullable=False, server_default=false(), comment="by the operator"),
    Column("renamed", _short_text(32), comment="when it got its name; null: it never had another"),
    Column("person", Boolean, nullable=False, server_default=false(), comment="whether a person plays under it"),
    Column("display", _short_text(48), comment="what people call who plays; null: the name alone"),
    _partial("bots_with_display", "id", where="display IS NOT NULL"),
)

tournaments = Table(
    "tournaments",
    metadata,
    Column("id", _short_text(40), primary_key=True),
    Column("arguments", ByteOrderedText, nullable=False, comment="canonical JSON, without the seed"),
    Column("seed", ByteOrderedText, nullable=False),
    Column("started", _short_text(32), nullable=False),
    Column("finished", _short_text(32)),
    Column("stem", _short_text(40), comment="what chance follows from, beside the seed; null: from the id"),
    Column("prefix", _short_text(40), comment="of the ids of its matches; null: the id"),
)

matches = Table(
    "matches",
    metadata,
    Column("number", Integer, primary_key=True, comment="the order in which matches are rated"),
    Column("id", _short_text(40), nullable=False, unique=True),
    Column("game", _short_text(64), nullable=False),
    Column("config", ByteOrderedText, nullable=False, comment="canonical JSON"),
    Column("reason", _short_text(32), nullable=False),
    Column("plies", Integer, nullable=False),
    Column("digest", _short_text(64), nullable=False),
    Column("started", _short_text(32), nullable=False),
    Column("finished", _short_text(32), nullable=False),
    Column("tournament", _short_text(40)),
    Column("place", Integer),
    Column("pool", _short_text(128), comment="where it is rated; null: it is not"),
    Column("luck", Float, comment="points that chance gave seat 0 of two; null: it was not worked out"),
    Column("luck_by", _short_text(32), comment="the value that says so"),
    Column("annulled", _short_text(128), comment="the pool in which it was rated, until that was annulled"),
    Column("rerated", Boolean, nullable=False, server_default=false(), comment="since its record was closed"),
    Column("record_bytes", Integer, comment="of its record; null: that was removed, or is in a file"),
    Column("node", Integer, comment="on which it was played; null: on the only server"),
    Column("archive", Integer, comment="the file that its record is in; null: it is in none"),
    UniqueConstraint("tournament", "place", name="one_match_a_place"),
    Index("matches_by_game", "game", "number"),
    Index("matches_by_finish", "finished"),
    Index("matches_by_ending", "game", "pool", "reason", "number").ddl_if(dialect="sqlite"),
    Index("matches_by_group", "game", _POOL_OR_UNRATED, "reason", "number").ddl_if(dialect="postgresql"),
    _partial("matches_by_tournament", "tournament", "pool", "reason", "number", where="tournament IS NOT NULL").ddl_if(
        dialect="sqlite"
    ),
    _partial(
        *("matches_of_tournament", "tournament", "game", _POOL_OR_UNRATED, "reason", "number"),
        where="tournament IS NOT NULL",
    ).ddl_if(dialect="postgresql"),
    _partial("matches_by_archive", "archive", where="archive IS NOT NULL"),
    _partial(
        "matches_by_record",
        text("(coalesce(pool, annulled) IS NULL)"),
        *("finished", "record_bytes"),
        where="record_bytes IS NOT NULL AND tournament IS NULL",
    ),
)

seats = Table(
    "seats",
    metadata,
    Column("match", ForeignKey("matches.number"), primary_key=True),
    Column("seat", Integer, primary_key=True),
    Column("bot", ForeignKey("bots.id"), nullable=False),
    Column("version", _short_text(64), nullable=False),
    Column("rank", Integer, nullable=False),
    Column("reason", _short_text(32), nullable=False),
    Column("mu_before", Float),
    Column("sigma_before", Float),
    Column("mu_after", Float),
    Column("sigma_after", Float),
    Column("moves", Integer, comment="accepted; null: the match is void"),
    Column("thought_ms", Integer, comment="taken off its clock; null: the match is void"),
    Column("pool", _short_text(128), nullable=False, server_default="", comment="the match's, or GAME/unrated"),
    Column("outcome", _short_text(8), nullable=False, server_default="", comment="won, drawn, lost or void"),
    Column("tournament", _short_text(40), comment="the match's"),
    Column("played", Integer, comment="the how-manieth rated match of its bot in the pool, this season"),
    Column("payoff", Float, comment="the mean that it was paid a round; null: there is none"),
    Column("rounds", Integer, comment="over so many; null: payoffs are not the result"),
    Index("seats_by_bot", "bot", "match"),
    Index("seats_by_ending", "bot", "pool", "outcome", "reason", "match"),
    _partial(
        "seats_by_tournament",
        *("tournament", "bot", "pool", "outcome", "reason", "match"),
        where="tournament IS NOT NULL",
    ),
    _partial("seats_by_played", "bot", "pool", "played", "mu_after", where="played IS NOT NULL"),
)

ratings = Table(
    "ratings",
    metadata,
    Column("bot", ForeignKey("bots.id"), primary_key=True),
    Column("pool", _short_text(128), primary_key=True),
    Column("mu", Float, nullable=False),
    Column("sigma", Float, nullable=False),
    Column("matches", Integer, nullable=False),
    Column("wins", Integer, nullable=False),
    Column("draws", Integer, nullable=False),
    Column("losses", Integer, nullable=False),
    Column("version", _short_text(64), nullable=False),
    Index("ratings_by_pool", "pool", "mu", "sigma"),
)

records = Table(
    "records",
    metadata,
    Column("match", ForeignKey("matches.number"), primary_key=True),
    Column("data", LargeBinary, nullable=False, comment="the closed record, gzip"),
)

match_log = Table(
    "match_log",
    metadata,
    Column("number", ForeignKey("matches.number"), primary_key=True),
    Column("hashes", LargeBinary, nullable=False, comment="of the leaf, and of the subtrees that end with it"),
)

log_keys = Table(
    "log_keys",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("secret", LargeBinary, nullable=False, comment="the private key that signs the log, Ed25519"),
    Column("created", _short_text(32), nullable=False),
)

archives = Table(
    "archives",
    metadata,
    Column("number", Integer, primary_key=True),
    Column(
        "path",
        ByteOrderedText,
        nullable=False,
        unique=True,
        comment="from the folder of the database on, if that is a file",
    ),
    Column("records", Integer, nullable=False),
    Column("bytes", BigIntegerType, nullable=False, comment="of the file"),
)

seasons = Table(
    "seasons",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", _short_text(32), nullable=False),
    Column("key", _short_text(32), nullable=False, unique=True, comment="the name in lower case"),
    Column("started", _short_text(32), nullable=False),
    Column("first", Integer, nullable=False, comment="the number of its first match, from which ratings begin anew"),
)

awaiting = Table(
    "awaiting",
    metadata,
    Column("match", _short_text(40), primary_key=True, comment="its id"),
    Column("tournament", _short_text(40), nullable=False),
    Column("place", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False, comment="the match as it was handed in, msgpack"),
    UniqueConstraint("tournament", "place", name="one_awaiting_a_place"),
)

failures = Table(
    "failures",
    metadata,
    Column("match", ForeignKey("matches.number"), primary_key=True),
    Column("seat", Integer, primary_key=True),
    Column("text", ByteOrderedText, nullable=False, comment="why the program of the bot failed"),
)

incidents = Table(
    "incidents",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("bot", ForeignKey("bots.id"), nullable=False),
    Column("at", _short_text(32), nullable=False),
    Column("code", _short_text(32), nullable=False),
    Column("text", ByteOrderedText, nullable=False),
    Index("incidents_by_bot", "bot", "id"),
)

actions = Table(
    "actions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", _short_text(32), nullable=False),
    Column("by", _short_text(100), nullable=False, comment="where the operator was, as in 'command line'"),
    Column("do", _short_text(32), nullable=False, comment="the request, or what undoes it"),
    Column(
        "concerns",
        ByteOrderedText,
        nullable=False,
        comment="JSON: the names of bots, matches and others that it is about",
    ),
    Column("more", Integer, nullable=False, comment="how many names are not kept"),
    Column("fault", ByteOrderedText, comment="why it was not done; null: it was"),
)

feed = Table(
    "feed",
    metadata,
    Column(
        "node", Integer, primary_key=True, autoincrement=False, comment="0: the only server; no row: it has no feed"
    ),
    Column("position", Integer, nullable=False, comment="the match up to which a broker has every end of the node"),
)

nodes = Table(
    "nodes",
    metadata,
    Column("id", Integer, primary_key=True, comment="by which others refer to it"),
    Column("name", _short_text(32), nullable=False, unique=True),
    Column("url", _short_text(200), nullable=False, comment="where clients connect to it; empty: it is given up"),
    Column("seen", _short_text(32), comment="when it was seen last, by the database's clock; null: it left"),
    Column("draining", Boolean, nullable=False, server_default=false(), comment="it takes no new matches"),
    Column("holder", Integer, nullable=False, server_default="0", comment="the number of who took its name last"),
    Column("session", _short_text(64), comment="with the database, that holds its name: process and start"),
)

under_way = Table(
    "under_way",
    metadata,
    Column("match", _short_text(40), primary_key=True, comment="its id"),
    Column("node", ForeignKey("nodes.id"), nullable=False),
    Column("header", ByteOrderedText, nullable=False, comment="of its record, JSON"),
    Column("secret", _short_text(64), nullable=False, comment="the seed of its dice, hex"),
    Column("bots", ByteOrderedText, nullable=False, comment="their folded names, with a space before and after each"),
    Index("under_way_by_node", "node"),
)

retention_clock = Table(
    "retention_clock",
    metadata,
    Column("id", Integer, primary_key=True, comment="always 1"),
    Column("looked", _short_text(32), nullable=False, comment="what the database's clock said last"),
    Column("steady_since", _short_text(32), comment="when it was seen to have jumped last; null: it never was"),
)

rating_decisions = Table(
    "rating_decisions",
    metadata,
    Column("id", Integer, primary_key=True, comment="always 1"),
    Column("version", Integer, nullable=False, comment="how often it was decided what is rated"),
)

announcements = Table(
    "announcements",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Float, nullable=False, comment="seconds since 1970, by the database's clock"),
    Column("kind", _short_text(32), nullable=False),
    Column("names", ByteOrderedText, nullable=False, comment="JSON: the folded names of bots that it is about"),
    Column("node", Integer, comment="to which bots are called; null: they are not"),
)

wake_channel = Table(
    "wake_channel",
    metadata,
    Column("id", Integer, primary_key=True, comment="always 1"),
    Column("name", _short_text(63), nullable=False, comment="on which nodes are woken to read announcements"),
)

games = Table(
    "games",
    metadata,
    Column("id", Integer, primary_key=True, comment="the order in which they were added"),
    Column("game", _short_text(64), nullable=False),
    Column("version", _short_text(32), nullable=False),
    Column("digest", _short_text(64), nullable=False, comment="of the source, SHA-256"),
    Column("file", ByteOrderedText, nullable=False, comment="the name of the file with the rules"),
    Column("source", LargeBinary, nullable=False, comment="the content of this file"),
    Column("beside", LargeBinary, nullable=False, comment="the files of its board and its documents, msgpack"),
    Column("added", _short_text(32), nullable=False),
    Column("offered", Boolean, nullable=False, comment="whether new matches begin"),
    UniqueConstraint("game", "version", name="one_source_a_version"),
    Index("games_by_digest", "digest"),
)

bot_versions = Table(
    "bot_versions",
    metadata,
    Column("id", Integer, primary_key=True, comment="the order in which they were handed in"),
    Column("bot", ForeignKey("bots.id"), nullable=False),
    Column("number", Integer, nullable=False, comment="of the version among those of its bot, from 1"),
    Column("digest", _short_text(64), nullable=False, comment="of the paths and contents of the files, SHA-256"),
    Column("content", LargeBinary, nullable=False, comment="the files, zip"),
    Column("manifest", ByteOrderedText, nullable=False, comment="JSON: games, commands and language"),
    Column("submitted", _short_text(32), nullable=False),
    Column("state", _short_text(8), nullable=False, comment="waiting, checking, passed or failed"),
    Column("report", ByteOrderedText, nullable=False, comment="of the check; empty before its end"),
    Column("active_since", _short_text(32), comment="null: it never was; the latest of a bot is the one that plays"),
    Column("check_records", LargeBinary, comment="JSON: the record of the check's match by game, gzip in base64"),
    Column("source_file", ByteOrderedText, comment="its name, if the version was handed in as one source file"),
    Column("source_digest", _short_text(64), comment="of one source file without its name, SHA-256"),
    Column("chosen_games", ByteOrderedText, comment="JSON: those that it plays; null: all of the manifest"),
    Column("published", Boolean, nullable=False, server_default=false(), comment="everybody may read the source"),
    UniqueConstraint("bot", "number", name="one_version_a_number"),
    UniqueConstraint("bot", "digest", name="one_version_a_digest"),
    Index("bot_versions_by_digest", "digest"),
    Index("bot_versions_by_state", "state"),
)

bot_logs = Table(
    "bot_logs",
    metadata,
    Column("id", Integer, primary_key=True, comment="the order in which they came"),
    Column("bot", ForeignKey("bots.id"), nullable=False),
    Column("number", Integer, nullable=False, comment="of the version of the bot"),
    Column("match", _short_text(40), nullable=False, comment="its id; it may be in progress or void"),
    Column("written", _short_text(32), nullable=False),
    Column("faults", Integer, nullable=False, comment="the number of faults of the program"),
    Column("size", Integer, nullable=False, comment="of the content, bytes"),
    Column("content", LargeBinary, nullable=False, comment="what the program wrote, and its faults: JSON, zlib"),
    Index("bot_logs_by_match", "bot", "match"),
    Index("bot_logs_by_time", "written"),
)

bot_states = Table(
    "bot_states",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("bot", ForeignKey("bots.id"), nullable=False),
    Column("number", Integer, nullable=False, comment="of the version; 0 for all that carry their files over"),
    Column("written", _short_text(32), nullable=False),
    Column("content", LargeBinary, nullable=False, comment="the files that the program keeps, tar"),
    UniqueConstraint("bot", "number", name="one_state_a_version"),
)

paused_bots = Table(
    "paused_bots",
    metadata,
    Column("bot", ForeignKey("bots.id"), primary_key=True, comment="a hosted bot that does not run now"),
    Column("since", _short_text(32), nullable=False),
)

bot_activations = Table(
    "bot_activations",
    metadata,
    Column("id", Integer, primary_key=True, comment="the order in which versions became the active ones"),
    Column("bot", ForeignKey("bots.id"), nullable=False),
    Column("number", Integer, nullable=False, comment="of the version, which may be gone"),
    Column("digest", _short_text(64), nullable=False, comment="of the version"),
    Column("since", _short_text(32), nullable=False, comment="when it was handed in, or chosen again"),
    Index("bot_activations_by_bot", "bot", "since"),
)

entrants = Table(
    "entrants",
    metadata,
    Column("tournament", _short_text(40), primary_key=True, comment="its id, also of one that is stored elsewhere"),
    Column("bot", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, nullable=False, comment="of the version with which the bot plays"),
    Column("digest", _short_text(64), nullable=False, comment="of this version, which is kept"),
    Column("late", Boolean, nullable=False, comment="whether it was handed in after the deadline"),
    Index("entrants_by_bot", "bot", "digest"),
)

planned_tournaments = Table(
    "planned_tournaments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("title", _short_text(80), nullable=False),
    Column("terms", ByteOrderedText, nullable=False, comment="JSON: game, config, format, rounds and the rest"),
    Column("closes", _short_text(32), nullable=False, comment="the deadline of the entries"),
    Column("starts", _short_text(32), nullable=False),
    Column("nightly", Boolean, nullable=False, comment="whether the next one is a day later"),
    Column("state", _short_text(8), nullable=False, comment="waiting, playing, over or failed"),
    Column("tournament", _short_text(40), comment="the id of the tournament; null: it has not begun"),
    Column("note", ByteOrderedText, nullable=False, comment="for people: who could not enter, or why it failed"),
    Index("planned_tournaments_by_state", "state"),
)

# The tables below summarize the results; arena/store/summaries.py derives them.

counts = Table(
    "counts",
    metadata,
    Column("tournament", _short_text(40), primary_key=True, comment="'' for all matches"),
    Column("game", _short_text(64), primary_key=True),
    Column("pool", _short_text(128), primary_key=True, comment="or GAME/unrated"),
    Column("reason", _short_text(32), primary_key=True),
    Column("matches", Integer, nullable=False),
    sqlite_with_rowid=False,
)

tallies = Table(
    "tallies",
    metadata,
    Column("tournament", _short_text(40), primary_key=True, comment="'' for all matches"),
    Column("bot", Integer, primary_key=True, autoincrement=False),
    Column("pool", _short_text(128), primary_key=True, comment="or GAME/unrated"),
    Column("outcome", _short_text(8), primary_key=True),
    Column("reason", _short_text(32), primary_key=True),
    Column("seat", Integer, primary_key=True, autoincrement=False),
    Column("matches", Integer, nullable=False),
    Column("moves", BigIntegerType, nullable=False),
    Column("thought_ms", BigIntegerType, nullable=False),
    sqlite_with_rowid=False,
)

opponents = Table(
    "opponents",
    metadata,
    Column("tournament", _short_text(40), primary_key=True, comment="'' for all matches"),
    Column("bot", Integer, primary_key=True, autoincrement=False),
    Column("pool", _short_text(128), primary_key=True, comment="or GAME/unrated"),
    Column("opponent", Integer, primary_key=True, autoincrement=False),
    Column("wins", Integer, nullable=False, comment="its rank was better"),
    Column("draws", Integer, nullable=False),
    Column("losses", Integer, nullable=False),
    Column("void", Integer, nullable=False),
    sqlite_with_rowid=False,
)

payoffs = Table(
    "payoffs",
    metadata,
    Column("tournament", _short_text(40), primary_key=True, comment="'' for all that are rated"),
    Column("pool", _short_text(128), primary_key=True, comment="or GAME/unrated"),
    Column("season", Integer, primary_key=True, autoincrement=False, comment="the number of its first match"),
    Column("bot", Integer, primary_key=True, autoincrement=False),
    Column("opponent", Integer, primary_key=True, autoincrement=False),
    Column("matches", Integer, nullable=False, comment="in which it has a payoff"),
    Column("rounds", BigIntegerType, nullable=False, comment="of these"),
    Column("total", BigIntegerType, nullable=False, comment="what it was paid in them"),
    Column("squares", BigIntegerType, nullable=False, comment="of the millions that a match paid"),
    Column("products", BigIntegerType, nullable=False, comment="of these millions and what was paid beyond them"),
    Column("rest_squares", BigIntegerType, nullable=False, comment="of what was paid beyond them"),
    Column("weighted", BigIntegerType, nullable=False, comment="what a match paid times its rounds"),
    Column("round_squares", BigIntegerType, nullable=False, comment="of the rounds of a match"),
    sqlite_with_rowid=False,
)

versions = Table(
    "versions",
    metadata,
    Column("bot", Integer, primary_key=True, autoincrement=False),
    Column("pool", _short_text(128), primary_key=True, comment="or GAME/unrated"),
    Column("version", _short_text(64), primary_key=True),
    Column("wins", Integer, nullable=False),
    Column("draws", Integer, nullable=False),
    Column("losses", Integer, nullable=False),
    Column("void", Integer, nullable=False),
    Column("moves", BigIntegerType, nullable=False),
    Column("thought_ms", BigIntegerType, nullable=False),
    Column("last", Integer, nullable=False, comment="the number of its last match"),
    Index("versions_by_last", "bot", "last"),
    sqlite_with_rowid=False,
)

encounters = Table(
    "encounters",
    metadata,
    Column("bot", Integer, primary_key=True, autoincrement=False),
    Column("opponent", Integer, primary_key=True, autoincrement=False),
    Column("pool", _short_text(128), primary_key=True, comment="or GAME/unrated"),
    Column("outcome", _short_text(8), primary_key=True),
    Column("reason", _short_text(32), primary_key=True),
    Column("match", Integer, primary_key=True, autoincrement=False, comment="its number"),
    sqlite_with_rowid=False,
)

hours = Table(
    "hours",
    metadata,
    Column("hour", _short_text(13), primary_key=True, comment="of the end of matches: 2026-01-31T12"),
    Column("first", Integer, nullable=False, comment="the lowest number of such a match"),
    Column("last", Integer, nullable=False),
    sqlite_with_rowid=False,
)


def enable_partial_indexes_on_postgresql() -> None:
    """Make partial indexes partial on PostgreSQL too. This loads its SQLAlchemy dialect, which SQLite does not need."""
    for table in metadata.sorted_tables:
        for index in table.indexes:
            index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]


def tournament_id(arguments: str, seed: str) -> str:
    """Return the id of the tournament with these arguments (canonical JSON) and seed."""
    return "t" + hashlib.sha256(f"{arguments}\n{seed}".encode()).hexdigest()[:10]
