"""The arena's side: the referee, its records, the ladder, the server and the `arena` command."""
