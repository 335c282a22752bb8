"""Calls out, and returns the answers."""

import http.client
import json
import socket
import time
import urllib.error
import urllib.request


def fine():
    return "fine"


def get(url, timeout=5.0):
    """Status and body, or what went wrong instead."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:
            return [answer.status, answer.read().decode("utf-8", "replace")]
    except urllib.error.HTTPError as error:
        return [error.code, error.read().decode("utf-8", "replace")]
    except (OSError, http.client.HTTPException) as error:
        return [type(getattr(error, "reason", error)).__name__, ""]


def get_all(urls):
    return [get(url) for url in urls]


def get_without_timeout(url):
    """As most code does it."""
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


def took(url):
    """Seconds until it is connected, until the answer begins, and until it ends."""
    host = url.split("/")[2]
    connection = http.client.HTTPConnection(host)
    times = [time.perf_counter()]
    connection.connect()
    times.append(time.perf_counter())
    connection.request("GET", "/")
    answer = connection.getresponse()
    times.append(time.perf_counter())
    size = len(answer.read())
    times.append(time.perf_counter())
    connection.close()
    return [later - earlier for earlier, later in zip(times, times[1:])] + [size]


def reach(host, port):
    try:
        socket.create_connection((host, port), 5).close()
        return "connected"
    except OSError as error:
        return type(error).__name__


def reach_all(hosts):
    return [reach(host, 80) for host in hosts]


def price(url):
    """Believes every answer."""
    return get_without_timeout(url)["item"]["price"]
