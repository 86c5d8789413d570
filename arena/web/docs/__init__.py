"""The project's documents as pages: where they are, Markdown as HTML, and the search in them."""
