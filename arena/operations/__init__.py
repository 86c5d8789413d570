"""Operator requests to a running server and its maintenance tasks, one module per subject with its requests and
answers. The server registers the handlers; arena/commands sends the requests.
"""
