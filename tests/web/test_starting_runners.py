"""A version whose check waits says why: the arena's own runners are starting, none is there, or its runner was lost."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from msgspec import json

from arena.operator.status import RunnerStatus
from arena.store.bot_versions import begin_check
from arena.store.store import Reader, Store
from arena.web import submissions
from arena.web.hosting_config import HostingConfig
from arena.web.site import Site
from hosted_bots import hand_in, register
from web_client import answer, served

IDLE = RunnerStatus(runner=1, host="", since="", slots=1, bots=[])
CHECKS_ANN = RunnerStatus(runner=2, host="", since="", slots=1, bots=[], checks=["ann"])


@pytest.mark.parametrize(
    ("starts", "has_begun", "runners", "told"),
    [
        (True, False, [], ("waiting", 0, True)),
        (True, False, [IDLE], ("waiting", 1, False)),
        (True, False, None, ("waiting", None, False)),
        (False, False, [], ("waiting", 0, False)),
        (False, True, [IDLE, CHECKS_ANN], ("checking", None, False)),
        (False, True, [IDLE], ("waiting", 1, False)),
        (False, True, [], ("waiting", 0, False)),
        (False, True, None, ("checking", None, False)),
    ],
)
def test_a_version_waits_unless_a_runner_checks_it_and_runners_are_starting_where_the_server_starts_them(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    starts: bool,
    has_begun: bool,
    runners: list[RunnerStatus] | None,
    told: tuple[str, int | None, bool],
) -> None:
    async def ask(self: object, hosting: HostingConfig) -> list[RunnerStatus] | None:
        return runners

    monkeypatch.setattr(submissions._Runners, "_ask", ask)
    register(tmp_path, "ann")
    hand_in(tmp_path, "ann", "", passed=False)
    if has_begun:
        with closing(Store.open(str(tmp_path / "arena.db"))) as store:
            store.write(begin_check, 1)
    token = "t" * 40
    with closing(Reader.open(str(tmp_path / "arena.db"))) as reader:
        config = HostingConfig(url="ws://127.0.0.1:1", token=token, starts_runners=starts)
        with served(Site(reader=reader, hosting=config)) as url:
            answered = answer(f"{url}/api/v1/bots/ann/submissions", Authorization=f"Bearer {token}")
    (version,) = json.decode(answered.text)["versions"]
    assert (version["state"], version["runners"], version["starting"]) == told
