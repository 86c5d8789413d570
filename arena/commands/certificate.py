"""Reloads a running server's certificate on SIGHUP, and warns before it expires."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from arena.commands.settings import ServerSettings
from arena.network.tls import CertificateFault, Encryption
from machine.service_manager import ServiceManager

CHECK_INTERVAL_S = 24 * 3600.0
"""Seconds between two checks of the certificate."""

log = logging.getLogger("arena")


def set_up_encryption(
    settings: ServerSettings, reloaders: Sequence[Callable[[], None]], manager: ServiceManager
) -> Encryption | None:
    """Return the TLS encryption that the settings ask for; None without a certificate. From now on, SIGHUP reloads the
    certificate, calls `reloaders`, and tells the service manager `manager`.

    Log now and once a day if clients reject the certificate or it expires soon. Raise `CertificateFault` if it cannot
    be loaded.
    """
    loop = asyncio.get_running_loop()
    if settings.tls_cert is None or settings.tls_key is None:
        loop.add_signal_handler(signal.SIGHUP, manager.reload, log_no_reload)
        return None
    encryption = Encryption(Path(settings.tls_cert), Path(settings.tls_key))

    def look() -> None:
        trouble, ending = encryption.validity_problem(), encryption.expiry_warning(time.time())
        if trouble is not None:
            log.warning("clients will reject the certificate %s: %s", settings.tls_cert, trouble)
        elif ending is not None:
            log.warning("%s: renew %s, then send SIGHUP", ending, settings.tls_cert)

    def look_daily() -> None:
        look()
        loop.call_later(CHECK_INTERVAL_S, look_daily)

    def reload() -> None:
        try:
            encryption.reload()
        except CertificateFault as fault:
            log.error("the current certificate stays in use: %s", fault)
            return
        log.info("the certificate was reloaded")
        look()
        for read_again in reloaders:
            read_again()

    look_daily()
    loop.add_signal_handler(signal.SIGHUP, manager.reload, reload)
    return encryption


def log_no_reload() -> None:
    """Log that there is no certificate that SIGHUP could reload."""
    log.info("SIGHUP: there is no certificate to reload, and settings are only read at the start")
