"""The operator's pages at `/admin`, which show the arena and have the server change it.

access_control.py decides who gets in: it checks hosts, sessions (sessions.py) and forged forms. forms.py reads what
a form sends, channel.py has the server do it, with the token of the person who is signed in. roster.py, ladder.py,
tournaments.py and log.py are the pages, routes.py has their addresses.
"""
