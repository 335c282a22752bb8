"""Reads data, from files and from others."""

import csv
import json
import os
import urllib.request


def fine():
    return "fine"


def read(path):
    with open(path) as file:
        return file.read()


def read_all(paths):
    return [read(path) for path in paths]


def read_low(path):
    """Without `open`."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 10_000).decode()
    finally:
        os.close(descriptor)


def total(path):
    """Takes the shape of the data for granted."""
    with open(path) as file:
        return sum(item["price"] for item in json.load(file)["items"])


def column(path):
    with open(path, newline="") as file:
        return [int(row["price"]) for row in csv.DictReader(file)]


def save(path):
    """Reads, and writes what it read."""
    text = read(path)
    with open(path, "w") as file:
        file.write(text + " ")


def fetch(url):
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read().decode()
