"""The logs of hosted bots on the pages."""

from __future__ import annotations

from contextlib import closing
from http import HTTPStatus
from pathlib import Path

from arena.store.registry import register_bot
from arena.store.store import Reader, Store
from arena.web.hosting_config import HostingConfig
from arena.web.site import Site
from arena.web.turns import FairTaskQueue
from web_client import answer, served


def test_a_search_in_logs_waits_for_its_turn_among_the_long_answers(tmp_path: Path) -> None:
    where, token = str(tmp_path / "arena.db"), "t" * 40
    with closing(Store.open(where)) as store:
        store.write(register_bot, "ann", "a" * 64)
    with closing(Reader.open(where)) as reader:
        site = Site(reader=reader, hosting=HostingConfig(url="ws://127.0.0.1:1", token=token))
        with served(site) as url:
            address = f"{url}/api/v1/bots/ann/logs?search=x"
            assert answer(address, Authorization=f"Bearer {token}").status == HTTPStatus.OK
            site.serving.long = FairTaskQueue(0, 0, 0)
            assert answer(address, Authorization=f"Bearer {token}").status == HTTPStatus.TOO_MANY_REQUESTS
