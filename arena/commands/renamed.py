"""The former names of options and settings, each with its present name. Error messages name the present one."""

from __future__ import annotations

RENAMED_SETTINGS = {
    "away": "reconnect_timeout",
    "house": "builtin_bots",
    "pace": "max_matches_per_hour",
}
"""The former names of a server's settings (options, environment variables, TOML keys), each with the present name."""
_RENAMED_MATCH_OPTIONS = {"--at": "--server", "--raw": "--no-luck-adjustment", "--read": "--sandbox-read"}
"""The former options of `arena tournament` and `arena test` about matches, each with the present option."""
_RENAMED_COMMAND_OPTIONS = {
    "tournament": {"--hello-within": "--connect-timeout", **_RENAMED_MATCH_OPTIONS},
    "test": {"--most": "--max-pairs", **_RENAMED_MATCH_OPTIONS},
}
"""The former options of `arena tournament` and `arena test` by command, each with the present option."""


def _option(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"


_RENAMED_SERVER_OPTIONS = {_option(old): _option(new) for old, new in RENAMED_SETTINGS.items()}
"""The former options of `arena serve` and `arena config`, each with the present option."""
RENAMED_OPTIONS = {
    f"{command} {old}": new
    for command, options in {
        "serve": _RENAMED_SERVER_OPTIONS,
        "config": _RENAMED_SERVER_OPTIONS,
        **_RENAMED_COMMAND_OPTIONS,
    }.items()
    for old, new in options.items()
}
"""All former options, as `COMMAND --OLD`, each with the present option."""
