"""The library for authors of bots: `Bot` and `Turn`, the client that connects, its settings and tokens.

- bot.py is what an author writes, run.py runs it.
- Without sockets: conversation.py says what a bot says to an arena, seat.py what it does in a match, nodes.py over
  which connection that goes, and talk.py is its side of the protocol.
- connection.py is one connection, connecting.py opens it, node_urls.py says which other hosts the client follows.
- worker_threads.py runs the author's code, still_running.py finds the line of a `choose` that takes long,
  warm_up.py warms bots up.
- turn_text.py writes a turn in words and reads a typed move. progress_report.py has the messages for the author.
- installed.py lists the bots that packages offer, loading.py loads one. options.py, settings.py and tokens.py
  configure it.
"""
