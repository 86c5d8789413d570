"""A version whose check waits says that the arena's own runners are starting, instead of that there are none."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from msgspec import json

from arena.store.store import Reader
from arena.web import submissions
from arena.web.hosting_config import HostingConfig
from arena.web.site import Site
from hosted_bots import hand_in, register
from web_client import answer, served


@pytest.mark.parametrize(
    ("starts", "connected", "starting"), [(True, 0, True), (True, 1, False), (True, None, False), (False, 0, False)]
)
def test_runners_are_starting_where_the_server_starts_them_and_none_is_connected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, starts: bool, connected: int | None, starting: bool
) -> None:
    async def count(self: object, hosting: HostingConfig) -> int | None:
        return connected

    monkeypatch.setattr(submissions._RunnerCount, "get", count)
    register(tmp_path, "ann")
    hand_in(tmp_path, "ann", "", passed=False)
    token = "t" * 40
    with closing(Reader.open(str(tmp_path / "arena.db"))) as reader:
        config = HostingConfig(url="ws://127.0.0.1:1", token=token, starts_runners=starts)
        with served(Site(reader=reader, hosting=config)) as url:
            told = answer(f"{url}/api/v1/bots/ann/submissions", Authorization=f"Bearer {token}")
    (version,) = json.decode(told.text)["versions"]
    assert (version["state"], version["runners"], version["starting"]) == ("waiting", connected, starting)
