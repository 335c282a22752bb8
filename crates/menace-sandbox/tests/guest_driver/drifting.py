"""Data that has another shape than before."""

from __future__ import annotations

import json
from typing import Any, Sequence

from cases import case, equal, guest
from driving import Guest, Report

TEXT = """
    import csv, io, json, os, pathlib
    def read(path):
        with open(path) as file:
            return file.read()
    def ways(path):
        found = [pathlib.Path(path).read_text()]
        descriptor = os.open(path, os.O_RDONLY)
        found.append(os.read(descriptor, 10000).decode())
        os.close(descriptor)
        found.append(io.open(path, 'rb').read().decode())
        return found
    def total(path):
        return sum(item['price'] for item in json.load(open(path))['items'])
    def save(path):
        data = json.load(open(path))
        data['saved'] = 1
        with open(path, 'w') as file:
            json.dump(data, file)
    def update(path):
        with open(path, 'r+') as file:
            return file.read()
    def two(first, second):
        return read(first), read(second)
"""
DATA = {"items": [{"price": 1, "name": "a"}, {"price": 2, "name": "b"}], "at": None, "ok": True}
TABLE = 'name,price\na,1\n"b, c",2\n'
FILES = {
    "data.json": json.dumps(DATA),
    "rows.csv": TABLE,
    "rows.tsv": "x\ty\n1\t2\n",
    "lines.jsonl": '{"a": 1, "b": [1.5]}\n{"a": 2}\n',
    "broken.json": "{",
    "plain.txt": json.dumps(DATA),
    "empty.json": "[]",
}
ALWAYS = [["schema_drift", "rate", 1.0]]


def fresh(one: Guest, name: str, args: Sequence[object], **more: Any) -> Report:
    """A call that finds the files as they were; for real ones, the init makes a new layer."""
    for file, text in FILES.items():
        with open(one.home + "/" + file, "w") as opened:
            opened.write(text)
    return one.call("m:" + name, args, **more)


@case
def keys_of_data_files_are_renamed_dropped_or_retyped() -> None:
    with guest(TEXT, files=FILES) as one:
        changes = set()
        for seed in range(30):
            full = fresh(one, "read", ["data.json"], faults=ALWAYS, seed=seed)
            found = json.loads(full["value"]["value"])
            assert found != DATA, seed
            mode, offered, injected, first, last = full["fault_stats"][0]
            equal((mode, offered, injected), ("schema_drift", 1, 1))
            assert first.startswith("data.json: `") and last > 0, full["fault_stats"]
            changes.add(first.rpartition(" ")[2])
            # All records alike.
            items = found.get("items")
            if type(items) is list and type(items[0]) is dict:
                equal(len({tuple(item) for item in items}), 1)
        equal(changes, {"renamed", "dropped", "retyped"})


@case
def drift_depends_on_the_seed_alone_and_ends_with_the_call() -> None:
    with guest(TEXT, files=FILES) as one:
        for name in ("data.json", "rows.csv", "rows.tsv", "lines.jsonl"):
            reads = [
                fresh(one, "read", [name], faults=ALWAYS, seed=seed)["value"]["value"]
                for seed in (1, 1, 2, 3, 4, 5)
            ]
            equal(reads[0], reads[1], name)
            assert len(set(reads)) > 1 and FILES[name] not in reads, reads
            full = fresh(one, "read", [name])
            equal((full["value"]["value"], "fault_stats" in full), (FILES[name], False))


@case
def every_way_to_open_a_file_sees_the_same_change() -> None:
    with guest(TEXT, files=FILES) as one:
        full = one.call("m:ways", ["data.json"], faults=ALWAYS)
        found = full["value"]["value"][1]
        assert len(set(found)) == 1 and json.loads(found[0]) != DATA, found
        equal(full["fault_stats"][0][1:3], [1, 1])
        equal(full["fixture_files"], [["data.json", "same"]])
        equal((full["violations"], full["leaked_descriptors"]), ([], []))


@case
def only_data_of_the_repository_that_is_read_drifts() -> None:
    with guest(TEXT, files=FILES) as one:
        for name in ("plain.txt", "broken.json", "empty.json", "m.py"):
            full = one.call("m:read", [name], faults=ALWAYS)
            with open(one.home + "/" + name) as file:
                equal(full["value"]["value"], file.read())
            equal(full["fault_stats"], [["schema_drift", 0, 0, None, None]], name)
        full = one.call("m:update", ["data.json"], faults=ALWAYS)
        equal((full["value"]["value"], full["fixture_files"]), (FILES["data.json"], []))
        full = one.call("m:save", ["data.json"], faults=ALWAYS)
        equal(full["fixture_files"], [["data.json", "changed"]])


@case
def drift_is_injected_at_its_trigger() -> None:
    with guest(TEXT, files=FILES) as one:
        for trigger, drifted in ((["nth", 1], 0), (["nth", 2], 1), (["nth", 3], None)):
            args = ["data.json", "rows.csv"]
            full = fresh(one, "two", args, faults=[["schema_drift", *trigger]])
            changed = [
                at
                for at, (name, text) in enumerate(zip(args, full["value"]["value"][1]))
                if text != FILES[name]
            ]
            equal(changed, [] if drifted is None else [drifted])
            equal(full["fault_stats"][0][1:3], [2, len(changed)])


@case
def fixtures_drift_like_other_files() -> None:
    with guest(TEXT) as one:
        content = json.dumps(DATA).encode()
        full = one.call("m:read", ["in/x.json"], faults=ALWAYS, files=[["in/x.json", content]])
        assert json.loads(full["value"]["value"]) != DATA
        equal(full["fixture_files"], [["in/x.json", "same"]])
