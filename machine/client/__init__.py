"""A client's connections to the nodes of an arena. Bots, agents, spectators and the doctor's opponents
have this in common.

- Without sockets: client_protocol.py is a client's side of the protocol, a base class: it is given messages and returns
  effects. nodes.py follows the nodes of an arena: it decides over which connection a message goes, and when to connect.
- connecting.py opens a WebSocket, connection.py keeps one connection, client.py carries out the effects.
"""
