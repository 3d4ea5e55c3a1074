"""A proxy of the environment, for services on other machines over HTTPS. The token is encrypted end to end."""
from __future__ import annotations

import base64
import re
import urllib.request
from typing import Optional, Tuple
from urllib.parse import unquote, urlsplit

from ..errors import Unreachable
from .address import Address

MAX_ANSWER = 16 * 1024


def proxy_for(address: Address) -> Optional[Tuple[str, int, bytes]]:
    """Host, port and the CONNECT request, or None. Loopback and plain HTTP never use a proxy."""
    if address.scheme != "https" or address.is_loopback:
        return None
    url = urllib.request.getproxies().get("https")
    if not url or urllib.request.proxy_bypass(address.host):
        return None
    parts = urlsplit(url if "://" in url else "http://" + url)
    if parts.scheme != "http" or not parts.hostname:
        raise Unreachable("the proxy in HTTPS_PROXY is not supported", hint="use an http:// proxy", is_sent=False)
    target = "%s:%d" % ("[%s]" % address.host if ":" in address.host else address.host, address.port)
    head = "CONNECT %s HTTP/1.1\r\nhost: %s\r\n" % (target, target)
    if parts.username is not None:
        login = "%s:%s" % (unquote(parts.username), unquote(parts.password or ""))
        head += "proxy-authorization: Basic %s\r\n" % base64.b64encode(login.encode()).decode("ascii")
    return parts.hostname, parts.port or 80, (head + "\r\n").encode("ascii")


def check_answer(answer: bytes) -> None:
    found = re.match(rb"HTTP/1\.[01] ([0-9]{3})", answer)
    if found is None or found.group(1) != b"200":
        status = found.group(1).decode() if found else "no status"
        raise Unreachable("the proxy in HTTPS_PROXY refused the connection: %s" % status, is_sent=False)
