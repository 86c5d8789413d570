"""The codes with which the arena closes a connection, documented in docs/protocol.md."""

GOING_AWAY = 1001
RESTARTING = 1012
TOO_MANY_BAD_MESSAGES = 4000
NOT_AUTHENTICATED = 4001
NO_HELLO = 4002
SUPERSEDED = 4003
TOO_MANY = 4004
READS_TOO_SLOWLY = 4005
