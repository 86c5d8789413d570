"""Reads the limits on hosted bots from the settings of a server."""

from __future__ import annotations

from arena.commands.settings import ServerSettings
from arena.hosting.limits import KIB, HostingLimits, SubmissionLimits, VersionLimits

MIB_BYTES = KIB * KIB
"""Bytes of a MiB."""


def hosting_limits(settings: ServerSettings) -> HostingLimits:
    """Return the limits on what authors of hosted bots hand in."""
    return HostingLimits(
        submission=SubmissionLimits(
            packed_bytes=settings.max_program_size * MIB_BYTES,
            unpacked_bytes=settings.max_unpacked_program_size * MIB_BYTES,
            files=settings.max_program_files,
        ),
        versions=VersionLimits(
            per_day=settings.max_versions_per_day,
            kept=settings.max_versions_kept,
            stored_bytes=settings.program_storage * MIB_BYTES,
        ),
        kept_bytes=settings.max_kept_size * MIB_BYTES,
    )
