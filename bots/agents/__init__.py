"""A seat for language models: tools of the Model Context Protocol that seek, show and play matches.

- server.py is the end of the Model Context Protocol, which only it and invalid_lines.py know. lenient_arguments.py
  reads arguments as models write them.
- tools.py has what a model can do; answers.py and replays.py what it is told, in fields and in words; rules.py the
  rules.
- talk.py is the agent's side of the arena's protocol without sockets, session.py its connection.
- page.py reads finished matches from the arena's page.
"""
