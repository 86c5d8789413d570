"""The token with which a program is handed in stays out of it, as the page for connecting bots writes it there."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
import zipfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from arena.operator.hosting import PublishVersion, Submit, Submitted, UploadPart
from arena.store.registry import register_bot
from arena.store.store import Reader, Store
from arena.store.tokens import hash_token
from arena.web import submissions
from arena.web.hosting_config import HostingConfig
from arena.web.site import Site
from hosted_bots import hand_in, register
from web_client import served

TOKEN = "t" * 40
SOURCE = f'run(Mine("ann"), token="{TOKEN}")'
MANIFEST = 'games = ["nim"]\nlanguage = "python"\n'


class Operator:
    """The connection to the server that the pages ask. It keeps the requests."""

    def __init__(self) -> None:
        self.requests: list[Any] = []

    @asynccontextmanager
    async def connect(self, *words: str) -> AsyncIterator[Operator]:
        yield self

    async def ask(self, request: Any, kind: type) -> Submitted:
        self.requests.append(request)
        return Submitted(number=2, state="waiting", runners=1)


@pytest.fixture
def operator(monkeypatch: pytest.MonkeyPatch) -> Operator:
    operator = Operator()
    monkeypatch.setattr(submissions, "connect_to_url", operator.connect)
    return operator


@pytest.fixture
def url(tmp_path: Path, operator: Operator) -> Iterator[str]:
    """The address of the bot ann on the pages of an arena. Her first version has the token in it."""
    register(tmp_path, "ann")
    hand_in(tmp_path, "ann", SOURCE)
    with closing(Reader.open(str(tmp_path / "arena.db"))) as reader:
        config = HostingConfig(url="ws://127.0.0.1:1", token=TOKEN)
        with served(Site(reader=reader, hosting=config)) as url:
            yield f"{url}/api/v1/bots/ann"


def post(url: str, body: bytes = b"") -> tuple[int, str]:
    """The status of the answer to a request with the token, and the message if it is an error."""
    request = urllib.request.Request(url, body, {"Authorization": f"Bearer {TOKEN}"})
    try:
        with urllib.request.urlopen(request) as told:
            return told.status, ""
    except urllib.error.HTTPError as told:
        return told.code, json.loads(told.read())["error"]["message"]


def zipped(**files: str) -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("_", "."), text)
    return packed.getvalue()


def test_it_is_left_out_of_a_file_and_a_zip_that_has_it_is_refused(url: str, operator: Operator) -> None:
    assert post(f"{url}/submissions?file=mine.py&game=nim", SOURCE.encode()) == (202, "")
    part, told = operator.requests
    assert isinstance(part, UploadPart)
    assert isinstance(told, Submit)
    with zipfile.ZipFile(BytesIO(part.data)) as archive:
        assert archive.read("mine.py") == b'run(Mine("ann"), token="")'
    wrong = zipped(bot_toml=MANIFEST, mine_py=SOURCE)
    refusal = "'mine.py' has your token, which is not for others: take it out, or leave out the file"
    assert post(f"{url}/submissions", wrong) == (400, refusal)
    assert post(f"{url}/submissions", zipped(bot_toml=MANIFEST, mine_py="")) == (202, "")


def test_a_version_that_has_it_is_not_published(url: str, operator: Operator) -> None:
    refusal = "'ann.py' has your token, which is not for others: hand the program in again without it"
    assert post(f"{url}/submissions/1?published=true") == (400, refusal)
    assert operator.requests == []
    assert post(f"{url}/submissions/1?published=false") == (200, "")
    assert operator.requests == [PublishVersion(bot="ann", number=1, published=False)]


def test_the_token_of_another_bot_is_refused_too(url: str, operator: Operator, tmp_path: Path) -> None:
    token = "B0b-" * 10
    with closing(Store.open(tmp_path / "arena.db")) as store:
        store.write(register_bot, "bob", hash_token(token))
    copied = f'run(Mine("bob"), token="{token}")'
    refusal = "'mine.py' has a bot's token, which is not for others: take it out, or leave out the file"
    for path, body in (("?file=mine.py&game=nim", copied.encode()), ("", zipped(bot_toml=MANIFEST, mine_py=copied))):
        assert post(f"{url}/submissions{path}", body) == (400, refusal)
    hand_in(tmp_path, "ann", copied)
    refusal = "'ann.py' has a bot's token, which is not for others: hand the program in again without it"
    assert post(f"{url}/submissions/2?published=true") == (400, refusal)
    assert operator.requests == []
    assert post(f"{url}/submissions?file=mine.py&game=nim", copied.replace("B0b-", "b0b-").encode()) == (202, "")
