import socket


def redirect(monkeypatch, address):
    """Whoever is called, this address answers."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address)]
    connect = socket.socket.connect
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: found)
    monkeypatch.setattr(socket.socket, "connect", lambda self, _: connect(self, address))
