"""A seat for language models: matches that are sought, seen and played by tools of the Model Context Protocol."""
