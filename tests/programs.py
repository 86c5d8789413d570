"""Programs of the system that tests run. Where one is not installed a test is skipped; in CI it fails."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest

_OF_THE_SYSTEM = "/usr/sbin:/usr/local/sbin"


def program(name: str, package: str = "") -> str:
    """Where one is; `package` is Debian's that has it, where that has another name."""
    found = shutil.which(name) or shutil.which(name, path=_OF_THE_SYSTEM)
    return found or missing(f"{name} is not installed; on Debian: apt-get install {package or name}")


def missing(what: str) -> NoReturn:
    """Skip the test for what is missing; in CI fail it."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)
