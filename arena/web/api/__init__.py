"""The JSON API, `/api/v1`: the content of the pages for programs.

operations.py is the table of all operations. operation.py serves and describes one of them by its types.
"""
