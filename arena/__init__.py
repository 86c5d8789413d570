"""The server's side: host, ladder, tournaments, store, web pages and the `arena` command. Independent of `bots`."""
