"""The policy of a lobby: all its limits and delays. Simulations and tests take other ones."""

from __future__ import annotations

from msgspec import Struct

from arena.lobby import ladder_pairing

PAIRING_INTERVAL_S = 1.0
"""The default of `LobbyPolicy.pairing_interval_s`."""


class LobbyPolicy(Struct, frozen=True, kw_only=True):
    """The limits and delays of a lobby. Delays are in seconds."""

    max_matches_per_hour: int = 0
    """The rate limit of each bot on the ladder; 0 means none."""
    rate_burst_matches: int = 100
    """The number of ladder matches that a bot may start in quick succession after a pause, before the rate limit delays
    it. So short experiments are never delayed.
    """
    rated_per_pair: int = 0
    """The maximum number of rated matches of a pair of bots in a pool and a day; 0 means no limit."""
    approved_only: bool = False
    """True if only matches between approved bots are rated."""

    new_seek_delay_s: float = 0.02
    """The time from a new seek to the next pairing round, so that seeks that arrive together are paired together."""
    pairing_interval_s: float = PAIRING_INTERVAL_S
    """The time between two pairing rounds while no new seeks arrive."""
    open_fallback_delay_s: float = 1.0
    """The time for which a seek without named opponents waits for similar seeks, before it may be paired with open
    seeks.
    """
    open_fallback_delay_populated_s: float = ladder_pairing.MEAN_MAX_WAIT_S + PAIRING_INTERVAL_S
    """The time for which a seek waits before it may be paired with open seeks, while enough similar seeks for a match
    are active. In this time, similar seeks that may be paired are paired.
    """
    open_pairing_interval_s: float = 0.25
    """The minimum time between two pairing rounds that include open seeks and seeks with several named opponents."""
    max_failed_fills: int = 8
    """The number of seeks without enough partners after which a pairing round leaves an open queue and tries the next
    one. After this many failures, few bots can be free.
    """
    pairing_batch_size: int = 64
    """The number of seeks that one step of a pairing round compares. Comparing them takes 1 to 2 ms."""
    max_playing_sample: int = 128
    """The maximum number of bots in matches that a pairing round considers. Such a sample is enough to estimate which
    opponents will soon become free.
    """
    quota_check_interval_s: float = 10.0
    """The time between two checks whether the used-up quotas of addresses have recovered."""
    open_slot_divisor: int = 4
    """The number by which the slots of a bot with open seeks are divided. The quotient, but at least 1, is the maximum
    number of matches that one opponent may play with the bot at the same time. So a bot with enough slots can play this
    many opponents at once.
    """

    first_pause_s: float = 10.0
    """The time for which a bot may not seek after its first missed match, because its opponents waited this long. Each
    further missed match doubles the pause.
    """
    max_pause_s: float = 600.0
    """The maximum time for which a bot may not seek after a missed match."""
    max_address_pause_s: float = 90.0
    """The maximum time for which the untrusted bots of an address may not seek after a missed match. It is short
    because many bots may share an address. A missed match costs its opponents 10 s, so with this pause an address
    wastes at most 10 of every 100 s of their time.
    """
    missed_match_ttl_s: float = 3600.0
    """The time after a pause in which a bot must miss no match, for its earlier missed matches to be forgotten."""
    max_trusted_bots: int = 1000
    """The maximum number of trusted bots. If there are more, offline bots lose their trust, those first whose last
    match is longest ago.
    """

    reserve_delay_s: float = 5.0
    """The time for which an assigned match waits until its bots have free slots. After that, slots that become free are
    reserved for the match.
    """
    call_interval_s: float = 5.0
    """The time between two calls that ask bots on other nodes to connect here for an assigned match."""

    max_absent_bots: int = 256
    """The maximum number of disconnected bots whose ratings are kept. Most bots that lose their connection soon come
    back. Other bots are read from the store again when they connect.
    """
    max_unknown_names: int = 1000
    """The maximum number of unregistered names that are remembered."""
    max_listed_seeks: int = 24
    """The maximum number of seeks of one bot in a listing: enough for an open seek in each of many games."""
    naming_seek_weight: int = 3
    """The number of seeks as which a seek that names opponents counts in a listing, because it is long."""
