"""Programs to hand in, and where tokens are saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from hosting_arena import LARGE, MINE


@pytest.fixture(autouse=True)
def saved_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Save tokens for this test alone: an arena of another one may have had the same port."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return file


@pytest.fixture
def large(tmp_path: Path) -> Path:
    file = tmp_path / "large.sh"
    file.write_bytes(LARGE)
    return file
