"""The referee of one match, without I/O: the time is an argument, effects are returned. It imports only protocol."""
