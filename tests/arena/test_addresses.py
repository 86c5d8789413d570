"""Whose connection it is: what counts as one address, and what a proxy is believed."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from arena.network.addresses import Proxies, address_of, is_allowed_host, is_own_name, parse_host_names, parse_networks
from arena.network.admission import Access

OURS = Proxies(parse_networks("127.0.0.1, 10.0.0.0/8, 2001:db8:ffff::/48"))


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::1", "::1"),
        ("/run/arena.sock", "/run/arena.sock"),
    ],
)
def test_one_address_is_an_ipv4_address_or_a_network_of_ipv6(host: str, address: str) -> None:
    assert address_of(host) == address


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("192.0.2.7", ["203.0.113.1"], "192.0.2.7"),
        ("127.0.0.1", ["203.0.113.1"], "203.0.113.1"),
        ("::ffff:127.0.0.1", ["203.0.113.1"], "203.0.113.1"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", ["198.51.100.9, 203.0.113.1"], "203.0.113.1"),
        ("127.0.0.1", ["198.51.100.9", "203.0.113.1"], "203.0.113.1"),
        ("127.0.0.1", ["203.0.113.1, 10.1.2.3"], "203.0.113.1"),
        ("127.0.0.1", ["10.1.2.3"], "10.1.2.3"),
        ("127.0.0.1", ["203.0.113.1:5000"], "203.0.113.1"),
        ("127.0.0.1", ["[2001:db8:1:2::1]:5000"], "2001:db8:1:2::/64"),
        ("2001:db8:ffff::1", ["2001:db8:1:2::1"], "2001:db8:1:2::/64"),
        ("127.0.0.1", ["203.0.113.1, unknown"], "127.0.0.1"),
        ("127.0.0.1", ["203.0.113.1, [2001:db8::1].evil"], "127.0.0.1"),
        ("127.0.0.1", ["198.51.100.9:evil"], "127.0.0.1"),
        ("127.0.0.1", [""], "127.0.0.1"),
    ],
)
def test_only_a_trusted_proxy_is_believed_and_only_what_it_says_itself(
    peer: str, forwarded: list[str], address: str
) -> None:
    assert OURS.client_address(peer, forwarded) == address


def test_what_is_no_address_and_no_network_is_named() -> None:
    with pytest.raises(ValueError, match="'nginx' is no address and no network"):
        parse_networks("127.0.0.1,nginx")


@pytest.mark.parametrize(("trusted", "address"), [("127.0.0.1", "203.0.113.1"), ("", "127.0.0.1")])
async def test_a_connection_belongs_to_whom_the_proxy_names(serve: Any, trusted: str, address: str) -> None:
    served = await serve(access=Access(proxies=parse_networks(trusted)))
    client = await served.connect(additional_headers={"X-Forwarded-For": "203.0.113.1"})
    await client.send(type="hello")
    await client.expect("welcome")
    assert [wire.address for wire in served.arena.host.listener.connections] == [address]


OWN_HOSTS = ("localhost", "LOCALHOST:80", "a.localhost:1", socket.gethostname(), "127.0.0.2:8765", "[::1]:8765")
PUBLIC_ADDRESSES = ("10.0.0.7", "192.0.2.1:80", "[2001:db8::1]:8080")
FORGED_HOSTS = (
    *("", "[", "[::1].evil", "evil@127.0.0.1", "127.0.0.1/.evil", "127.0.0.1.evil.example", "x@evil.example"),
    *("evil.example", "localhost.evil.example", "localhost:8080:evil", "localhost?evil.example"),
)


@pytest.mark.parametrize("host", [*OWN_HOSTS, *PUBLIC_ADDRESSES, "arena.lan", "ARENA.lan:8080"])
def test_a_page_for_the_operator_is_asked_for_by_names_that_nobody_else_can_have(host: str) -> None:
    assert is_allowed_host(host, ("arena.lan",))
    assert is_own_name(host) == (host in OWN_HOSTS)


@pytest.mark.parametrize("host", [*FORGED_HOSTS, "arena.lan.evil.example"])
def test_names_that_others_may_have_are_refused(host: str) -> None:
    assert not is_allowed_host(host, ("arena.lan",))
    assert not is_own_name(host)


def test_names_of_hosts_are_read_and_what_is_none_is_named() -> None:
    assert parse_host_names(" Arena.lan, arena.example.org,") == ("arena.lan", "arena.example.org")
    for wrong in ("http://arena.lan", "arena.lan:8080", "-", "a b"):
        with pytest.raises(ValueError, match="is no name of a host"):
            parse_host_names(wrong)
