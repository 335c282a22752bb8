import socket


def redirect_connections(monkeypatch, address):
    """Connects every socket to this address."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address)]
    connect = socket.socket.connect
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: found)
    monkeypatch.setattr(socket.socket, "connect", lambda self, _: connect(self, address))
