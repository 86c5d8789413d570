"""Hosts of headers and URLs: read whole, or not at all."""

from __future__ import annotations

import pytest

from machine.host_names import host_of_url, read_host

PRETENDERS = (
    "[::1].evil",
    "[::1]evil:80",
    "evil[::1]",
    "[::1]:80:90",
    "[127.0.0.1]",
    "[localhost]",
    "[::1",
    "::1]",
    "evil@127.0.0.1",
    "127.0.0.1/.evil",
    "127.0.0.1?evil",
    "127.0.0.1#evil",
    "127.0.0.1\\\\.evil",
    "127.0.0.1 evil",
    "127.0.0.1:evil",
    "127.0.0.1:80@evil",
    "localhost\t",
    "localhost\n",
    "",
    ":80",
)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("Localhost", "localhost"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("[::1]", "::1"),
        ("[2001:DB8::1]:8765", "2001:db8::1"),
        ("[fe80::1%eth0]:8765", "fe80::1%eth0"),
        ("arena.example.", "arena.example."),
        ("my_machine:1", "my_machine"),
    ],
)
def test_a_host_is_read_without_its_port(text: str, host: str) -> None:
    assert read_host(text) == host
    assert host_of_url(f"ws://{text}/path") == host
    assert host_of_url(f"ws://user:word@{text}") == host


@pytest.mark.parametrize("text", PRETENDERS)
def test_what_only_begins_or_ends_like_a_host_is_none(text: str) -> None:
    assert read_host(text) == ""


@pytest.mark.parametrize("url", ["ws://[::1].evil", "ws://x@[::1].evil:80/", "ws://[::1", "localhost", "ws://", ""])
def test_a_url_without_a_whole_host_has_none(url: str) -> None:
    assert host_of_url(url) == ""
