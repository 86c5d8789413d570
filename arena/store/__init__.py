"""The database of an arena, on SQLite or PostgreSQL: bots, results, ratings, records, tournaments and nodes. Queries
and changes are functions of a connection, which a `Store` runs in transactions. No other package of arena contains SQL.

- Databases: database.py is the interface, which sqlite_database.py and postgres_database.py implement. database_url.py
  and server_url.py choose between them. dialect.py executes SQL, in which few words differ between the two, and rows.py
  converts rows. answer_limit.py and bounded_connection.py limit the time for answers. database_copy.py copies an arena
  to another database. schema.py has the tables, which migrations and upgrade.py bring up to date. views.py has the
  views for outside queries. integrity_check.py checks everything.
- Access: store.py runs queries and changes (`Store.read` and `Store.write`). async_store.py runs them from an event
  loop, with one thread that writes, and notes in health.py whether that works. after_commit.py runs statements after a
  transaction. data_folder.py locks the data folder. backup.py copies a database in use.
- Games: games.py has the games that the operator brought, with their sources.
- Bots: registry.py and tokens.py have the registered bots. bot_versions.py has the programs of those that are hosted,
  bot_logs.py what these wrote, and bot_states.py what they keep. incident.py is a failure of a bot. actions.py is the
  operator's audit log.
- Results: finish.py stores matches, with the outcome in stored_match.py; result_queries.py reads them. match_log.py has
  a log entry for each match. match_luck.py stores luck, in the form of luck_value.py. pool_payoffs.py has payoffs.
  summaries.py keeps totals, so that pages are fast.
- Ratings: annulment.py and seasons.py change which matches are rated, and rating_decisions.py counts these changes.
  rating_rebuild.py computes ratings again.
- Old records: thinning.py removes them, by the clock of retention_clock.py. archiving.py moves them to files, which
  archives.py lists and archive_file.py writes and reads. record_restore.py restores records from a backup.
- Tournaments: tournament_state.py has tournaments in progress, and their matches that wait to be rated. tournaments.py
  has the queries for pages.
- Queries for pages: leaderboards.py, match_search.py, match_numbers.py and paging.py; export_rows.py for the columns
  and rows of exports, of which those of matches and seats come from views.py.
- Nodes: node_store.py owns a node's name, nodes.py lists the nodes, and announcements.py tells them of changes.
  feed_position.py stores how far the event feed has come.

Database errors whose cause is not the statement (SQLSTATE classes 08, 25, 40, 53, 55, 57 and 58) become
`StoreUnavailable`, and the transaction is tried again.

Each summary table of summaries.py has one query, which computes its totals for some matches or for all. After an
annulment, later matches are rated again and marked, because their records keep the earlier ratings. The new ratings are
computed without writing, then written in one transaction. A match of a tournament moves from tournament_state.py to the
tables of results in one transaction.

The row of a node counts the processes that have held its name. If the database ends the session of such a process, the
process takes the name again only if the count has not changed: then no other process has held the name meanwhile.
"""
