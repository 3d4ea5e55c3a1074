"""Where a service is, and whether a token may be sent there."""
from __future__ import annotations

import dataclasses
import ipaddress
import re
from urllib.parse import urlsplit

from ..errors import CodecellError

HOST = re.compile(r"[A-Za-z0-9._:-]+")
PATH = re.compile(r"[A-Za-z0-9._~/%!$&'()*+,;=:@-]*")
EXAMPLE = "use one such as https://cells.example or http://127.0.0.1:7410"


@dataclasses.dataclass(frozen=True)
class Address:
    """An origin and the path below which the service is."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = "[%s]" % self.host if ":" in self.host else self.host
        return host if self.port == (443 if self.scheme == "https" else 80) else "%s:%d" % (host, self.port)

    def __str__(self) -> str:
        return "%s://%s%s" % (self.scheme, self.authority, self.path)


def parse_address(url: str, allow_insecure: bool = False) -> Address:
    """The address of a URL. Plain HTTP is for this machine only, because it shows the token to the network.

    >>> str(parse_address("http://127.0.0.1:7410/"))
    'http://127.0.0.1:7410'
    >>> parse_address("http://cells.example")
    Traceback (most recent call last):
    codecell.errors.CodecellError: http:// would send the token unencrypted to cells.example (use https://, or pass allow_insecure=True if the network is trusted)
    """
    if not url.isprintable():  # urlsplit removes line breaks silently
        raise CodecellError("usage", "%r is not the URL of a service" % url, hint=EXAMPLE)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise CodecellError("usage", "this is not the URL of a service", hint=EXAMPLE) from None
    if parts.username is not None or parts.password is not None:
        raise CodecellError("usage", "a URL with a user or a password is not supported", hint="pass token=")
    if parts.scheme not in ("http", "https") or not HOST.fullmatch(host) or parts.query or parts.fragment:
        raise CodecellError("usage", "%r is not the URL of a service" % url, hint=EXAMPLE)
    if not PATH.fullmatch(parts.path):
        raise CodecellError("usage", "the path of %r has characters that a URL cannot have" % url, hint=EXAMPLE)
    default = 443 if parts.scheme == "https" else 80
    address = Address(parts.scheme, host, default if port is None else port, parts.path.rstrip("/"))
    if address.scheme == "http" and not address.is_loopback and not allow_insecure:
        hint = "use https://, or pass allow_insecure=True if the network is trusted"
        raise CodecellError("usage", "http:// would send the token unencrypted to %s" % address.host, hint=hint)
    return address
