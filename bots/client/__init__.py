"""The library for authors of bots: `Bot` and `Turn`, the client that connects, its settings and tokens.

- bot.py has the classes that an author uses; run.py runs a bot.
- Without sockets: conversation.py decides what a bot says to an arena, seat.py what it does in a match. The connections
  are those of `machine.client`.
- worker_threads.py runs the author's code, still_running.py finds the line at which a slow `choose` is, warm_up.py
  warms bots up.
- turn_text.py writes a turn in words and reads a typed move. progress_report.py has the messages for the author.
- installed.py lists the bots that packages offer, loading.py loads a bot. options.py, settings.py and tokens.py
  configure a bot.
"""
