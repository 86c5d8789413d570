"""The whole as one file, as pipx and uvx take it: it has all that a folder of the sources has for who runs an arena."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from arena.web.client_wheel import build_client_wheel
from arena.web.docs.library import library
from arena.web.site import static_version
from games.poker.strategies import equilibrium_of
from timeouts import WITHIN

ROOT = Path(__file__).parents[1]
SHOWS = """
import arena
from arena.web.client_wheel import build_client_wheel
from arena.web.docs.library import library
from arena.web.site import static_version
from games.poker.strategies import equilibrium_of
from protocol.games import game_document, game_names
told = (build_client_wheel().sha256, len(equilibrium_of("leduc")), static_version())
print(arena.__file__, *told, sep="\\n")
print(all(game_document(game, f"{kind}_document") for game in game_names() for kind in ("rules", "summary")))
print(*library().names(), sep="\\n")
"""


@pytest.mark.ci
def test_a_wheel_of_the_whole_has_documents_and_tables_and_makes_the_same_wheel_of_the_client(
    tmp_path: Path,
) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT]
    subprocess.run(build, check=True, timeout=WITHIN, capture_output=True)
    (wheel,) = tmp_path.glob("bot_arena-*.whl")
    installed = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    done = subprocess.run([sys.executable, "-c", SHOWS], cwd=installed, check=True, timeout=WITHIN, capture_output=True)
    file, digest, decisions, version, has_all_rules, *names = done.stdout.decode().splitlines()
    assert Path(file).is_relative_to(installed)
    assert digest == build_client_wheel().sha256
    assert int(decisions) == len(equilibrium_of("leduc"))
    assert version == static_version()
    assert has_all_rules == "True"
    assert names == library().names()
