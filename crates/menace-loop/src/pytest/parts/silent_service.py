import socket


class NoTimeoutSet(BaseException):
    """A socket without a timeout waits for a service that never replies."""


def silent_service(monkeypatch):
    """Starts a service that never replies; sockets with a timeout time out at once."""
    server = socket.create_server(("127.0.0.1", 0))
    redirect_connections(monkeypatch, server.getsockname())

    def listen(self, *args, **kwargs):
        if self.gettimeout() is None:
            raise NoTimeoutSet("no reply comes, and the socket has no timeout")
        raise socket.timeout("timed out")

    for name in ("recv", "recv_into", "recvfrom", "recvfrom_into"):
        monkeypatch.setattr(socket.socket, name, listen)
    return server


def times_out(call):
    """Fails when the call would wait for ever."""
    with contextlib.suppress(Exception):
        consume(call())
