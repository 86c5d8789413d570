"""The operator's channel to a running server: JSON requests and replies over the arena's own WebSocket.

The server answers the requests; commands and web pages send them.

- requests.py has the messages, changes.py, status.py, failure.py and tournaments.py those by subject. hosting.py has
  those about hosted bots, hosted_matches.py those about their tournaments.
- channel.py is the server's end, client.py the operator's. credentials.py has the token and where the server
  listens.
- name_list.py and new_bots.py read lists of new bots.
"""
