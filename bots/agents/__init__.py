"""A seat for language models: tools of the Model Context Protocol that seek, show and play matches.

- server.py speaks the Model Context Protocol, which only it and invalid_lines.py know. lenient_arguments.py reads
  arguments as models write them.
- tools.py has the tools; answers.py and replays.py have their answers, as fields and as text; rules.py has the rules.
- talk.py is the agent's side of the arena's protocol without sockets, session.py its connection.
- page.py reads finished matches from the arena's page.
"""
