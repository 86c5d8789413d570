"""Certificates for tests, made by OpenSSL: signed by themselves, for this machine, valid for a day or for no longer."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

from programs import program

NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1"
LONG_AGO = ("-startdate", "20200101000000Z", "-enddate", "20200102000000Z")
AUTHORITY = """[ca]
default_ca=own
[own]
database={0}/index
serial={0}/serial
new_certs_dir={0}
policy=any
[any]
commonName=supplied
"""


class Pair(NamedTuple):
    """A certificate and its key, in PEM."""

    certificate: Path
    key: Path


def make(folder: Path, name: str, *, expired: bool = False) -> Pair:
    """A new certificate."""
    pair = Pair(folder / f"{name}.pem", folder / f"{name}.key")
    new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}")
    if not expired:
        _openssl(*new, "-x509", "-days", "1", "-addext", NAMES, "-keyout", pair.key, "-out", pair.certificate)
        return pair
    request, authority = folder / f"{name}.request", folder / f"{name}.authority"
    _openssl(*new, "-keyout", pair.key, "-out", request)
    authority.write_text(AUTHORITY.format(folder))
    (folder / "index").touch()
    sign = ("ca", "-batch", "-selfsign", "-create_serial", "-md", "sha256", "-config", authority)
    _openssl(*sign, *LONG_AGO, "-keyfile", pair.key, "-in", request, "-out", pair.certificate)
    return pair


def _openssl(*words: str | Path) -> None:
    subprocess.run([program("openssl"), *words], check=True, capture_output=True)
