"""Measures a round trip over the loopback of the sandbox it is called in."""

import socket
import time


def connect_ms() -> float:
    """How long a TCP connection takes to be made, in milliseconds: one round trip."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        began = time.perf_counter()
        with socket.create_connection(server.getsockname()):
            return (time.perf_counter() - began) * 1000
