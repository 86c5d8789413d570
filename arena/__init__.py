"""The arena: everything of the server's side, with the ladder, tournaments, the store, web pages and the `arena`
command.
"""
