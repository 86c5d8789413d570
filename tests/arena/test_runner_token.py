"""The token of runners opens what runners need, and nothing else."""

from __future__ import annotations

import pkgutil
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from arena import runner
from arena.hosting.limits import HostingLimits
from arena.network.admission import Access
from arena.operations.administration import all_handlers
from arena.operator.client import connect_to_url
from arena.operator.credentials import read_credentials, runner_token_of, write_credentials
from arena.operator.hosting import ReadVersion, SubmissionPart
from arena.operator.requests import Request, RunnerRequest
from arena.operator.status import ServerStatus, StatusRequest
from arena.store.database_url import open_database_url
from protocol.errors import UsageFault

TOKEN = "secret"


async def test_a_runner_reads_programs_by_its_token_but_does_not_operate_the_arena(serve: Any) -> None:
    access = Access(operator_token=TOKEN, runner_token=runner_token_of(TOKEN))
    served = await serve(access=access, make_operations=partial(all_handlers, hosting=HostingLimits()))
    url = f"ws://127.0.0.1:{served.port}"
    for token in (TOKEN, runner_token_of(TOKEN)):
        async with connect_to_url(url, token) as connection:
            assert (await connection.ask(ReadVersion(digest="0" * 64), SubmissionPart)).data == b""
            if token == TOKEN:
                await connection.ask(StatusRequest(), ServerStatus)
            else:
                with pytest.raises(UsageFault, match=r"^do is 'status': one of join_fleet, leave_fleet, read_"):
                    await connection.ask(StatusRequest(), ServerStatus)


def test_all_that_runners_ask_for_is_open_to_their_token() -> None:
    asked = {
        value
        for module in pkgutil.iter_modules(runner.__path__, f"{runner.__name__}.")
        for value in vars(import_module(module.name)).values()
        if isinstance(value, type) and issubclass(value, Request)
    }
    assert len(asked) >= 8
    assert [request.__name__ for request in asked if not issubclass(request, RunnerRequest)] == []


def test_the_data_folder_has_the_token_of_runners(tmp_path: Path) -> None:
    write_credentials(tmp_path, TOKEN, "ws://127.0.0.1:1", open_database_url(f"sqlite:///{tmp_path / 'arena.db'}"))
    found = read_credentials(tmp_path)
    assert found is not None
    assert found.runner_token == runner_token_of(TOKEN)
    assert TOKEN not in found.runner_token
    assert runner_token_of("another") != found.runner_token
