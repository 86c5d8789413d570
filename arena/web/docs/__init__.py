"""The project's documents as pages.

library.py finds the documents, markdown.py turns them into HTML, search.py searches them.
"""
