"""Units of memory and of time."""

KIB, MIB = 1024, 1024 * 1024
"""Bytes of a KiB and of a MiB."""
DAY_S = 24 * 3600.0
"""Seconds of a day."""
