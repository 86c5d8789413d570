"""The codes with which the arena closes a connection, documented in docs/protocol.md."""

GOING_AWAY = 1001
"""The server stops."""
PEER_LOSS = 1011
"""The client counts as lost: it left a ping unanswered, or the arena has lost the runner of the hosted bot."""
RESTARTING = 1012
"""The server restarts."""
TOO_MANY_BAD_MESSAGES = 4000
"""The client sent too many bad messages."""
NOT_AUTHENTICATED = 4001
"""The client's name and token are refused, or no longer valid."""
NO_HELLO = 4002
"""The client sent no valid `hello` in time."""
SUPERSEDED = 4003
"""A newer connection of the bot replaced this one."""
TOO_MANY_CONNECTIONS = 4004
"""Too many connections or other requests come from the client's address. An `error` before the close says which."""
READS_TOO_SLOWLY = 4005
"""The client left too many bytes unread."""
