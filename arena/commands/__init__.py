"""What the `arena` commands do, one module each, and what they share: settings, tables in plain text."""
