"""The database of an arena, on SQLite or PostgreSQL: bots, results, ratings, records, tournaments and nodes. Queries
and changes are functions of a connection, which a `Store` runs in transactions. No other package of arena writes
SQL.

- Databases: database.py is the interface, sqlite_database.py and postgres_database.py implement it, dialect.py
  translates between them, compiled_statements.py keeps statements for all of them. database_url.py and server_url.py
  choose one, answer_limit.py and bounded_connection.py limit how long one may take. database_copy.py takes an arena
  from any database to any other. schema.py, migrations and upgrade.py keep the tables, views.py those for others,
  integrity_check.py checks them.
- Access: store.py runs queries (`Store.read` and `write`). async_store.py does so from an event loop, with the one
  thread that writes. data_folder.py says whose a data folder is, backup.py copies a database in use.
- Bots: registry.py and tokens.py say who is known and what went wrong with them, each time an incident.py. actions.py
  is the operator's audit log.
- Results: finish.py stores matches, result_queries.py reads them. match_log.py has an entry for every match.
  match_luck.py keeps luck, which is a luck_value.py, pool_payoffs.py payoffs. summaries.py keeps pages fast.
- Ratings: annulment.py and seasons.py say what counts, rating_decisions.py counts such decisions, and
  rating_rebuild.py computes ratings again.
- Old records: thinning.py removes them by the clock of retention_clock.py. archiving.py moves them to files, which
  archives.py lists and archive_file.py reads. record_restore.py puts them back from a backup.
- Tournaments: tournament_state.py has those in progress, with matches that wait to be rated; tournaments.py has
  their pages.
- Queries for pages: leaderboards.py, match_search.py, match_numbers.py and paging.py; export_rows.py for exports.
- Nodes: node_store.py owns a node's name, nodes.py says which are alive, announcements.py tells them of changes.
  feed_position.py says up to which match a broker has every end.

Errors that say nothing about the statement (SQLSTATE classes 08, 25, 40, 53, 55, 57 and 58) become
`StoreUnavailable`, and the transaction is tried again.

For each summary, one query says what matches add or take away, and can compute it again from all. After an
annulment, later matches are rated again and marked, because their records keep the ratings of their day. The new
ratings are computed beside the stored ones and written in one transaction. A tournament's match moves from
tournament_state.py to the tables of results in one transaction.

A number in a node's row grows with each holder of its name. A process whose session was ended takes the name again
only if no other process had it meanwhile.
"""
