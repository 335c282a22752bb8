import http.client
import socket
import threading

SPOILT = "menace spoilt answer"


def answer(connection, reply):
    """Hears the question, gives the reply, and hangs up."""
    with connection, contextlib.suppress(OSError):
        connection.settimeout(1)
        heard = b""
        while b"\r\n\r\n" not in heard:
            part = connection.recv(65536)
            if not part:
                break
            heard += part
        connection.sendall(reply)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass


def service(monkeypatch, reply):
    """A service on this machine that gives everybody this reply."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            connection, _ = server.accept()
            threading.Thread(target=answer, args=(connection, reply), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    redirect(monkeypatch, server.getsockname())


def checks_answers(call):
    """Fails when the call takes a bad answer for good, or stumbles over it."""
    try:
        result = use(call())
    except (OSError, http.client.HTTPException):
        return
    except Exception as error:
        if not meant(error):
            raise
        return
    assert SPOILT not in repr(result), "it returned what a failing service answered"
