"""The former names of options and settings, each with its present name, for the line that refuses the former one."""

from __future__ import annotations

RENAMED_SETTINGS = {
    "away": "reconnect_timeout",
    "house": "builtin_bots",
    "pace": "max_matches_per_hour",
}
"""Settings of a server: options of `serve` and `config`, environment variables and keys of the TOML file."""
_OF_MATCHES = {"--at": "--server", "--raw": "--no-luck-adjustment", "--read": "--sandbox-read"}
_OF_COMMANDS = {
    "tournament": {"--hello-within": "--connect-timeout", **_OF_MATCHES},
    "test": {"--most": "--max-pairs", **_OF_MATCHES},
}
"""Options of other commands."""


def _option(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"


_OF_SETTINGS = {_option(old): _option(new) for old, new in RENAMED_SETTINGS.items()}
RENAMED_OPTIONS = {
    f"{command} {old}": new
    for command, options in {"serve": _OF_SETTINGS, "config": _OF_SETTINGS, **_OF_COMMANDS}.items()
    for old, new in options.items()
}
"""All former options, as `COMMAND --OLD`, with the present one."""
