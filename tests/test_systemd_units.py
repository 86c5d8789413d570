"""The units of systemd in deploy/systemd, as far as they can be looked at where systemd does not run."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
from pathlib import Path

from arena.commands.settings import ServerSettings
from processes import REPOSITORY
from programs import program

UNITS = REPOSITORY / "deploy" / "systemd"
EXPOSURE = 2.0
"""By systemd's own scale, on which 10 is without any protection; a unit with none of these lines has 9.2."""


def analyze(folder: Path, *words: str) -> str:
    """What `systemd-analyze` says of the units, with a program that is there in the place of the arena's."""
    analyzer = program("systemd-analyze", "systemd")
    for unit in UNITS.iterdir():
        text = unit.read_text().replace("/srv/arena/venv/bin/arena", sys.executable)
        (folder / unit.name).write_text(text)
    done = subprocess.run([analyzer, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_systemd_finds_nothing_wrong_with_them(tmp_path: Path) -> None:
    assert analyze(tmp_path, "verify", "./arena.service", "./arena.socket") == ""


def test_the_service_is_exposed_as_little_as_is_said(tmp_path: Path) -> None:
    said = analyze(tmp_path, "security", "--offline=true", "./arena.service")
    found = re.search(r"Overall exposure level for arena\.service: (\d+\.\d+)", said)
    assert found is not None
    assert float(found[1]) <= EXPOSURE
    assert f"an exposure of {found[1]} of 10" in (REPOSITORY / "docs" / "operating.md").read_text()


def test_the_sockets_are_those_of_the_settings_that_a_server_has_unless_it_is_said() -> None:
    streams = re.findall(r"^ListenStream=(.*)$", (UNITS / "arena.socket").read_text(), re.MULTILINE)
    defaults = ServerSettings()
    assert streams == [f"{defaults.host}:{port}" for port in (defaults.port, defaults.web_port)]


def test_the_service_serves_and_is_watched() -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[method-assign, assignment]
    unit.read(UNITS / "arena.service")
    service = unit["Service"]
    assert service["Type"] == "notify"
    assert int(service["WatchdogSec"]) >= 10
    assert " serve " in service["ExecStart"]
    assert service["ExecReload"].endswith("-HUP $MAINPID")
