"""Tools of the Model Context Protocol by which a language model (the agent) seeks, sees and plays matches.

- server.py and invalid_lines.py speak the Model Context Protocol; no other module knows it. lenient_arguments.py
  converts arguments that models write loosely.
- tools.py has the tools. answers.py and replays.py have their answers, as fields and as text.
- talk.py is the agent's side of the arena's protocol, without sockets. session.py is the agent's connection.
- page.py reads finished matches from the arena's page.
"""
