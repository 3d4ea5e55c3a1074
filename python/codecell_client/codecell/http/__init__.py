"""HTTP/1.1 over a stream of bytes. The same code serves blocking sockets and asyncio."""
