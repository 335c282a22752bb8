"""Replaces TLS on connections to `upstream` by plain text, without clients noticing.

The classes are derived from those of `ssl` once it is loaded, so that `isinstance` stays true.
"""

from __future__ import annotations

from _weakref import ref

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

    from upstream.sockets import SocketReplacement

CIPHER = ("TLS_AES_256_GCM_SHA384", "TLSv1.3", 256)


def replace_tls(module: Any, replacement: SocketReplacement) -> None:
    """Makes SSL contexts wrap such connections without encryption."""
    context = module.SSLContext
    wrap_socket, wrap_bio = context.wrap_socket, context.wrap_bio
    initialise = module.socket.__init__

    class ClearSocket(module.SSLSocket):
        """A plain socket with the methods of a wrapped one."""

        def read(self, len=1024, buffer=None):
            if buffer is None:
                return self.recv(len)
            return self.recv_into(buffer, len)

        def write(self, data):
            return self.send(data)

        def do_handshake(self, block=False) -> None:
            self._checkClosed()

        def unwrap(self):
            return self

        def pending(self) -> int:
            return 0

    class ClearObject(module.SSLObject):
        """Like `ClearSocket`, between two buffers (`SSLObject`)."""

        def read(self, len=1024, buffer=None):
            data = self._incoming.read(len)
            if not data and not self._incoming.eof:
                raise module.SSLWantReadError(module.SSL_ERROR_WANT_READ, "nothing to read")
            if buffer is None:
                return data
            buffer[: data.__len__()] = data
            return data.__len__()

        def write(self, data):
            return self._outgoing.write(data)

        def do_handshake(self) -> None:
            pass

        def unwrap(self) -> None:
            pass

        def pending(self):
            return self._incoming.pending

    for cls in (ClearSocket, ClearObject):
        _give_answers(cls)
        cls.__module__ = "ssl"

    def clear_socket(self, sock, server_side=False, *args, **kwargs):
        connection = None if server_side else replacement.of(sock)
        if connection is None:
            return wrap_socket(self, sock, server_side, *args, **kwargs)
        names = ("do_handshake_on_connect", "suppress_ragged_eofs", "server_hostname", "session")
        given = dict(zip(names, args), **kwargs)
        connection.tls = True
        made = ClearSocket.__new__(ClearSocket)
        timeout = sock.gettimeout()
        initialise(made, sock.family, sock.type, sock.proto, sock.detach())
        made.settimeout(timeout)
        _describe(made, self, given.get("server_hostname"))
        made.do_handshake_on_connect = made._connected = made.suppress_ragged_eofs = True
        connection.near = ref(made)
        return made

    def clear_bio(self, incoming, outgoing, server_side=False, server_hostname=None, session=None):
        if server_side:
            return wrap_bio(self, incoming, outgoing, server_side, server_hostname, session)
        made = ClearObject.__new__(ClearObject)
        made._incoming, made._outgoing = incoming, outgoing
        _describe(made, self, server_hostname)
        return made

    context.wrap_socket, context.wrap_bio = clear_socket, clear_bio


def _describe(made: Any, context: Any, host: str | None) -> None:
    made._clear_context = context
    made._clear_host = host
    made._sslobj = made._session = None


def _give_answers(cls: type) -> None:
    """Adds the methods that describe a wrapped connection: cipher, certificate, version."""

    def getpeercert(self, binary_form=False):
        if binary_form:
            return b""
        host = self._clear_host or "localhost"
        return {
            "subject": ((("commonName", host),),),
            "subjectAltName": (("DNS", host), ("IP Address", host)),
        }

    answers = {
        "getpeercert": getpeercert,
        "version": lambda self: "TLSv1.3",
        "cipher": lambda self: CIPHER,
        "shared_ciphers": lambda self: [CIPHER],
        "compression": lambda self: None,
        "selected_alpn_protocol": lambda self: None,
        "selected_npn_protocol": lambda self: None,
        "get_channel_binding": lambda self, cb_type="tls-unique": None,
        "context": property(lambda self: self._clear_context),
        "server_hostname": property(lambda self: self._clear_host),
        "server_side": property(lambda self: False),
        "session": property(lambda self: None),
        "session_reused": property(lambda self: False),
    }
    for name, answer in answers.items():
        setattr(cls, name, answer)
