"""Uploads are kept until they are whole: few at a time, and none that is too large."""

from __future__ import annotations

import pytest

from arena.hosting.uploads import Uploads
from protocol.errors import UsageFault


def test_an_upload_is_taken_once_and_whole() -> None:
    uploads = Uploads("file", max_bytes=4, max_uploads=2)
    for part in (b"12", b"34"):
        uploads.add("a", part)
    assert uploads.take("a") == b"1234"
    with pytest.raises(UsageFault, match="too many files were handed in at a time: hand yours in again"):
        uploads.take("a")


def test_the_oldest_of_too_many_uploads_is_forgotten() -> None:
    uploads = Uploads("file", max_bytes=4, max_uploads=2)
    for upload in "abc":
        uploads.add(upload, b"1")
    with pytest.raises(UsageFault, match="too many files"):
        uploads.take("a")
    assert uploads.take("b") == b"1"


def test_an_upload_that_is_too_large_is_refused_and_forgotten() -> None:
    uploads = Uploads("file", max_bytes=4, max_uploads=2)
    uploads.add("a", b"1234")
    with pytest.raises(UsageFault, match="a file has more than 4 bytes: hand in less"):
        uploads.add("a", b"5")
    with pytest.raises(UsageFault):
        uploads.take("a")
