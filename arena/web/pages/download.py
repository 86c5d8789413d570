"""The download page of the client wheel."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from arena.web.client_wheel import build_client_wheel
from arena.web.errors import NotFound
from arena.web.rendering import render_page, respond_with_etag
from arena.web.site import page_url
from protocol.display import short_repr


def download(request: Request) -> Response:
    return render_page(request, "download.html", wheel=build_client_wheel(), pip=pip_command(request))


def file(request: Request) -> Response:
    """Send the wheel, whose name contains its version."""
    wheel, name = build_client_wheel(), request.path_params["file"]
    if name != wheel.name:
        raise NotFound(f"there is no file {short_repr(name)} here: the client is {wheel.name}, on the page /download")
    return respond_with_etag(request, wheel.content, "application/octet-stream", {})


def pip_command(request: Request) -> str:
    """Return the command that installs the client from the address under which the visitor reached this page."""
    home = page_url(request.headers.get("host", ""), encrypted=request.url.scheme == "https")
    return f"python -m pip install {home}/download/{build_client_wheel().name}"
