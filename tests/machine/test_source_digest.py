"""The sources that a module is made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from games.poker.strategies import LEDUC_FILE
from machine.source_digest import PACKAGES, digest, digest_of_packages, files_of_packages, find_sources

REPOSITORY = Path(__file__).parents[2]
FILES = (
    "package/__init__.py",
    "package/kernel.py",
    "package/near.py",
    "package/deep/__init__.py",
    "package/deep/deeper/__init__.py",
    "package/deep/deeper/constants.py",
    "package/unrelated.py",
    "other/__init__.py",
    "other/far.py",
)


def found(root: Path, **texts: str) -> set[str]:
    """What the kernel is made of, by path, where the files of these names say so."""
    for path in FILES:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(texts.get(file.stem, ""))
    return {file.relative_to(root).as_posix() for file in find_sources(root / "package/kernel.py")} - {
        "package/kernel.py"
    }


@pytest.mark.parametrize(
    ("statement", "files"),
    [
        ("from package.near import X", {"package/near.py"}),
        ("from package import near", {"package/__init__.py", "package/near.py"}),
        ("from package import (  # (both)\n    deep,\n    near,\n)", {FILES[0], "package/deep/__init__.py", FILES[2]}),
        ("from package import deep, \\\n    near", {FILES[0], "package/deep/__init__.py", FILES[2]}),
        ("import package.deep.deeper.constants as c", {FILES[0], *FILES[3:6]}),
        ("import other.far, package.near", {*FILES[7:], FILES[0], FILES[2]}),
        ("from . import near", {FILES[0], FILES[2]}),
        ("from .deep.deeper.constants import *", {FILES[5]}),
        ("from other import far; from .near import X", {*FILES[7:], FILES[2]}),
        ("def later():\n    from package.near import X", {FILES[2]}),
        ("import os, numpy, nothing.there\nfrom ......... import far_out", set()),
        ("# from package.near import X", set()),
    ],
)
def test_what_a_module_imports_is_found(statement: str, files: set[str], tmp_path: Path) -> None:
    assert found(tmp_path, kernel=f"{statement}\n") == files


def test_imports_are_followed_however_far_and_around_circles(tmp_path: Path) -> None:
    texts = {
        "kernel": "from package.near import X",
        "near": "from other.far import X",
        "far": "from package.deep.deeper import constants",
        "constants": "from package import kernel",
    }
    assert found(tmp_path, **texts) == {*FILES[:1], FILES[2], *FILES[4:6], FILES[8]}


def test_what_others_have_installed_is_not_followed(tmp_path: Path) -> None:
    texts = {"kernel": "from other.far import X\nfrom package.near import X"}
    assert found(tmp_path / "site-packages", **texts) == {FILES[2]}


def test_this_projects_packages_are_followed_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("from protocol import reasons")
    ours = REPOSITORY / "protocol"
    assert find_sources(tmp_path / "kernel.py") == {tmp_path / "kernel.py", ours / "__init__.py", ours / "reasons.py"}


@pytest.mark.parametrize(
    ("module", "made_of", "others"),
    [
        (
            "games/risk/search/campaign_search.py",
            {"games/risk/evaluation.py", "games/risk/search/flat_campaign.py", "machine/compiled.py"},
            {
                "bots/client/run.py",
                "games/risk/search/duel_search.py",
                "games/nim/rules.py",
                "games/risk/exact/table.py",
            },
        ),
        (
            "games/risk/exact/table.py",
            {"machine/compiled.py", "games/risk/rules/duel.py"},
            {"games/risk/evaluation.py"},
        ),
    ],
)
def test_a_kernel_is_made_of_the_modules_whose_constants_it_holds(
    module: str, made_of: set[str], others: set[str]
) -> None:
    files = {file.relative_to(REPOSITORY).as_posix() for file in find_sources(REPOSITORY / module)}
    assert made_of <= files
    assert not others & files


def test_the_digest_is_that_of_every_source(tmp_path: Path) -> None:
    digests = []
    for folder, constant in (("one", "X = 1"), ("two", "X = 1"), ("three", "X = 2")):
        found(tmp_path / folder, kernel="from package.near import X", near=constant)
        digests.append(digest(tmp_path / folder / "package/kernel.py"))
    assert digests[0] == digests[1] != digests[2]


def test_the_digest_is_another_where_a_source_or_the_module_has_another_name(tmp_path: Path) -> None:
    """Modules that import each other are made of the same sources, and functions in both may have the same name."""
    found(tmp_path / "one", kernel="from package import deeper, near", near="from package import kernel")
    found(tmp_path / "two", kernel="from package import unrelated, near", unrelated="from package import kernel")
    modules = [tmp_path / "one/package/kernel.py", tmp_path / "one/package/near.py", tmp_path / "two/package/kernel.py"]
    assert len({digest(module) for module in modules}) == 3


def test_results_follow_from_every_data_file_of_the_packages() -> None:
    data = {file for file in files_of_packages(REPOSITORY) if file.suffix not in (".py", ".typed")}
    assert {
        LEDUC_FILE,
        REPOSITORY / "bots/reference/levels.toml",
        REPOSITORY / "games/risk/rules/maps/world.toml",
    } <= data


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("games/poker/leduc.json", True),
        ("bots/reference/levels.toml", True),
        ("measuring/weights.npz", True),
        ("protocol/table", True),
        ("referee/near.py", True),
        ("arena/web/static/board/board.js", False),
        ("games/nim/web/board.js", False),
        ("games/nim/levels.toml", True),
        ("arena/web/templates/home.html", False),
        ("arena/documents/docs/rules.md", False),
        ("machine/__pycache__/near.cpython-311.pyc", False),
        ("bots/.levels.toml.swp", False),
        ("games/nim/rules.md", False),
        ("docs/rules.md", False),
    ],
)
def test_the_digest_of_all_changes_with_what_results_follow_from_and_with_nothing_else(
    name: str, counts: bool, tmp_path: Path
) -> None:
    for package in PACKAGES:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    without = digest_of_packages(tmp_path)
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"1")
    first = digest_of_packages(tmp_path)
    file.write_bytes(b"2")
    assert len({without, first, digest_of_packages(tmp_path)}) == (3 if counts else 1)
