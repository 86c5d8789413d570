"""The HTTP server of the pages, with its limits on connections."""

from __future__ import annotations

from collections.abc import Sequence

from arena.network.addresses import Network
from arena.network.connection_limits import ConnectionBounds
from arena.network.http_server import HttpServer
from arena.network.tls import Encryption
from arena.web.app import application
from arena.web.site import Site

CONNECTION_LIMITS = ConnectionBounds(waiting=1000, waiting_per_address=200)
"""The limits on connections to the pages. A browser opens six connections, and a class of students behind one router
counts as one address.
"""


class PageServer(HttpServer):
    """An HTTP server for the pages of a site. Its sockets listen already. It runs until `stop` is called."""

    def __init__(self, site: Site, encryption: Encryption | None = None, proxies: Sequence[Network] = ()) -> None:
        super().__init__(application(site, proxies), CONNECTION_LIMITS, encryption, proxies)
