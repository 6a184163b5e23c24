"""Which editor and place a request is for, where that is sure enough to end an older one for it."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable

from starlette.requests import Request as HttpRequest

HEADER = "x-redraft-document"
LINES = 20


def document_of(http: HttpRequest, prefix: str, slot: int | None) -> Hashable | None:
    """A key for client and document; None where there is no sure one.

    That is the header X-Redraft-Document, else the peer with the slot it asks for and the first
    whole lines, up to 20, before the cursor. Without a slot or a whole line it is not sure: two
    windows would look the same.
    """
    peer = http.client.host if http.client is not None else ""
    header = http.headers.get(HEADER)
    if header:
        return (peer, "header", header)
    lines = prefix.split("\n")[:-1][:LINES]
    if slot is None or not any(line.strip() for line in lines):
        return None
    digest = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).digest()
    return (peer, slot, digest)
