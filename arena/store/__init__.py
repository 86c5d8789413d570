"""The database of an arena: bots, results, ratings, records, seasons, tournaments and nodes, on SQLite or PostgreSQL.
It holds no rules of games and talks to no client. The server, the operator's commands and the web pages use it.
"""
