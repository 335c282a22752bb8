import http.client
import socket
import threading

CORRUPTED = "menace corrupted reply"


def send_reply(connection, reply):
    """Reads the request, sends the reply and closes the connection."""
    with connection, contextlib.suppress(OSError):
        connection.settimeout(1)
        request = b""
        while b"\r\n\r\n" not in request:
            part = connection.recv(65536)
            if not part:
                break
            request += part
        connection.sendall(reply)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass


def serve_reply(monkeypatch, reply):
    """Starts a local service that sends this reply to every request."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            connection, _ = server.accept()
            threading.Thread(target=send_reply, args=(connection, reply), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    redirect_connections(monkeypatch, server.getsockname())


def rejects_bad_replies(call):
    """Fails when the call returns data of a corrupted reply, or fails to parse it."""
    try:
        result = consume(call())
    except (OSError, http.client.HTTPException):
        return
    except Exception as error:
        if not raised_on_purpose(error):
            raise
        return
    assert CORRUPTED not in repr(result), "the result contains data of a corrupted reply"
