"""The database of an arena, on SQLite or PostgreSQL: bots, results, ratings, records, tournaments and nodes. Queries
and changes are functions of a connection, which a `Store` runs in transactions. No other package of arena writes SQL.
"""
