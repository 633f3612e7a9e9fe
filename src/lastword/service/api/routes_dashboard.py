"""The dashboard: static files of this package, read once and answered from memory.

They hold no data, so they need no token: the page asks for one and sends it with its requests.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lastword.service.api.key_reads import has_etag
from lastword.service.api.operations import Content, Operation, RequestCall
from lastword.service.http.answers import SECURITY_HEADERS, HttpAnswer, HttpHeader
from lastword.service.http.auth import Access
from lastword.service.http.problems import RefusedError

_DIRECTORY = Path(__file__).parents[1] / "page"
_PAGE = "index.html"
_MEDIA_TYPES = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
# Nothing from elsewhere, nothing inline, and no text that becomes markup: whatever a record
# holds, the browser itself refuses to run it.
_PAGE_POLICY: HttpHeader = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    b"connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
    b"require-trusted-types-for 'script'; trusted-types 'none'",
)


@dataclass(frozen=True)
class _File:
    body: bytes
    etag: bytes
    headers: tuple[HttpHeader, ...]

    def answer(self, wanted: bytes | None) -> HttpAnswer:
        """The file, or only that the browser has it already."""
        if wanted is not None and has_etag(wanted, self.etag):
            return HttpAnswer(304, self.headers)
        return HttpAnswer(200, self.headers, self.body)


@cache
def files() -> dict[str, _File]:
    """Every file of the page by its path."""
    return {
        path.relative_to(_DIRECTORY).as_posix(): _load(path)
        for path in sorted(_DIRECTORY.rglob("*"))
        if path.suffix in _MEDIA_TYPES
    }


def _load(path: Path) -> _File:
    body = path.read_bytes()
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'.encode()
    is_page = path.name == _PAGE
    security = [each for each in SECURITY_HEADERS if not (is_page and each[0] == _PAGE_POLICY[0])]
    headers = (
        (b"content-type", _MEDIA_TYPES[path.suffix]),
        (b"cache-control", b"no-cache"),
        (b"etag", etag),
        *security,
        *((_PAGE_POLICY,) if is_page else ()),
    )
    return _File(body, etag, headers)


async def page(call: RequestCall) -> HttpAnswer:
    """The document that loads all others."""
    return files()[_PAGE].answer(call.headers.get(b"if-none-match"))


async def asset(call: RequestCall) -> HttpAnswer:
    """A script, a style sheet or a picture of the page."""
    file = files().get(call.path_parameters["file"])
    if file is None:
        raise RefusedError(404, "PathNotFound", "the dashboard has no such file")
    return file.answer(call.headers.get(b"if-none-match"))


DASHBOARD: tuple[Operation, ...] = (
    Operation(
        id="dashboard",
        method="GET",
        path="/",
        serves="service",
        summary="The dashboard",
        access=Access.NONE,
        handler=page,
        answer=Content("the page", str, "text/html"),
    ),
    Operation(
        id="dashboard_file",
        method="GET",
        path="/assets/{file:path}",
        serves="service",
        summary="A file of the dashboard",
        access=Access.NONE,
        handler=asset,
        answer=Content("the file", str, "*/*"),
        problems=(404,),
    ),
)
"""For people: they are routed as every operation is, and omitted from the OpenAPI document."""
