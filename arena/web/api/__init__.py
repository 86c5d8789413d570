"""The JSON API under `/api/v1`, with the content of the pages. A table of operations defines queries and answers."""
