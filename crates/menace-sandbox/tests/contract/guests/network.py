"""Knocks at every door."""

import os
import socket


def fine():
    return "fine"


def attempt(action):
    try:
        return action()
    except OSError as error:
        return type(error).__name__


def tcp(address, port):
    with socket.create_connection((address, port), timeout=0.5) as connection:
        connection.sendall(b"hello from inside")
        return "connected"


def udp(address, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"hello from inside", (address, port))
        return "sent"


def unix(address):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(0.5)
        connection.connect(address)
        connection.sendall(b"hello from inside")
        return "connected"


def datagram(address):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"hello from inside", address)
        return "connected"


def datagram_message(address):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendmsg([b"hello from inside"], [], 0, address)
        return "connected"


def knock(port, udp_port, abstract, path, abstract_datagrams, datagrams):
    """What each way out answers; sending a datagram that no socket receives is no success."""
    addresses = ["127.0.0.1", "0.0.0.0", "localhost"]
    answers = [attempt(lambda: tcp(address, port)) for address in addresses]
    answers += [attempt(lambda: unix("\0" + abstract)), attempt(lambda: unix(path))]
    mailboxes = ["\0" + abstract_datagrams, datagrams]
    for mailbox in mailboxes:
        answers += [attempt(lambda: datagram(mailbox)), attempt(lambda: datagram_message(mailbox))]
    for address in addresses:
        attempt(lambda: udp(address, udp_port))
    attempt(lambda: through_a_pair(socket.SOCK_STREAM, "\0" + abstract, path))
    attempt(lambda: through_a_pair(socket.SOCK_DGRAM, *mailboxes))
    return answers


def through_a_pair(kind, *addresses):
    """A pair of sockets that is pointed at another socket."""
    mine, _ = socket.socketpair(socket.AF_UNIX, kind)
    for address in addresses:
        attempt(lambda: mine.sendto(b"hello from inside", address))
        attempt(lambda: mine.sendmsg([b"hello from inside"], [], 0, address))
        attempt(lambda: mine.connect(address))
        attempt(lambda: mine.send(b"hello from inside"))


def talk_to_itself():
    """A server and a client in one."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with socket.create_connection(server.getsockname(), timeout=1) as client:
            connection, _ = server.accept()
            client.sendall(b"hello")
            return connection.recv(100).decode()


def serve_once(port):
    """One connection, which the server closes first."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", port))
        server.listen()
        with socket.create_connection(server.getsockname(), timeout=1) as client:
            connection, _ = server.accept()
            connection.sendall(b"hello")
            connection.close()
            return client.recv(100).decode()


def talk_over_a_pair():
    one, other = socket.socketpair()
    one.sendall(b"hello")
    return other.recv(100).decode()


def listen(port):
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("0.0.0.0", port))
        server.listen()
        open(os.devnull).close()
        import time

        time.sleep(60)


def resolve(name):
    return attempt(lambda: socket.gethostbyname(name))


def interfaces():
    return sorted(name for _, name in socket.if_nameindex())
