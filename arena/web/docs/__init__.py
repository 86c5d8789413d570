"""The project's documents as pages: the library of files, Markdown to HTML, and full-text search."""
