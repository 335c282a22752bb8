import socket


class WaitsForEver(BaseException):
    """Somebody listens to a service that says nothing, and has set no timeout."""


def silence(monkeypatch):
    """A service that takes every question and never says a word; time flies for who set a timeout."""
    server = socket.create_server(("127.0.0.1", 0))
    redirect(monkeypatch, server.getsockname())

    def listen(self, *args, **kwargs):
        if self.gettimeout() is None:
            raise WaitsForEver("no answer comes, and no timeout was set")
        raise socket.timeout("timed out")

    for name in ("recv", "recv_into", "recvfrom", "recvfrom_into"):
        monkeypatch.setattr(socket.socket, name, listen)
    return server


def gives_up(call):
    """Fails when the call would wait for ever."""
    with contextlib.suppress(Exception):
        use(call())
