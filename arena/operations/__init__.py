"""Handlers of operator requests to a running server, and its maintenance tasks, one module per subject. `arena serve`
registers the handlers and starts the tasks; arena/commands sends the requests.
"""
