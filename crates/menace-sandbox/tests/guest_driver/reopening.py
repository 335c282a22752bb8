"""What an import left open is each call's own."""

from __future__ import annotations

import os

from cases import case, equal, guest
from driving import Guest
from under_test import PYTHON


def twice(text: str) -> object:
    """What two equal calls of `f` return."""
    with guest(text) as one:
        equal(one.imported["unforkable_state"], [])
        reports = [one.call("m:f") for _ in range(2)]
    for report in reports:
        equal(report["notes"], [])
    first, second = (report["value"]["value"] for report in reports)
    equal(second, first)
    return first


@case
def each_call_has_its_own_place_in_a_file_left_open_for_writing() -> None:
    text = """
        log = open('log.txt', 'w', buffering=1)
        log.write('import\\n')
        def f():
            log.write('called\\n')
            return log.tell(), open('log.txt').read()
    """
    equal(twice(text), ("t", [14, "import\ncalled\n"]))


@case
def each_call_has_its_own_place_in_a_file_left_open_for_reading() -> None:
    text = """
        import os
        raw = os.open(__file__, os.O_RDONLY)
        os.lseek(raw, 3, os.SEEK_SET)
        file = open(__file__)
        file.readline(), file.readline()
        def f():
            return os.lseek(raw, 5, os.SEEK_CUR), os.read(raw, 4), file.readline()
    """
    equal(twice(text), ("t", [8, b"os\nr", "raw = os.open(__file__, os.O_RDONLY)\n"]))


@case
def flags_that_a_call_sets_are_its_own() -> None:
    text = """
        import fcntl, os
        numbers = [os.open(path, os.O_RDONLY) for path in (__file__, '.', os.devnull)] + [0]
        def f():
            before = [fcntl.fcntl(number, fcntl.F_GETFL) for number in numbers]
            for number, flags in zip(numbers, before):
                fcntl.fcntl(number, fcntl.F_SETFL, flags | os.O_NONBLOCK | os.O_APPEND)
            return [bool(flags & (os.O_NONBLOCK | os.O_APPEND)) for flags in before]
    """
    equal(twice(text), ("l", [False] * 4))


@case
def locks_that_a_call_takes_are_its_own() -> None:
    text = """
        import fcntl
        kept = open(__file__)
        def f():
            with open(__file__) as other:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(kept, fcntl.LOCK_EX)
            return 'locked'
    """
    equal(twice(text), "locked")


@case
def directories_are_each_calls_own() -> None:
    text = """
        import os
        os.mkdir('inner')
        inner = os.open('inner', os.O_RDONLY)
        only_a_path = os.open('inner', os.O_PATH)
        def f():
            return [sorted(os.listdir(inner)), os.path.samefile(inner, only_a_path)]
    """
    with guest(text) as one:
        equal(one.imported["unforkable_state"], [])
        equal(one.call("m:f")["value"]["value"], ("l", [("l", []), True]))
        # As if the call had a layer of its own.
        os.rename(one.home + "/inner", one.home + "/old")
        os.mkdir(one.home + "/inner")
        open(one.home + "/inner/new", "w").close()
        equal(one.call("m:f")["value"]["value"], ("l", [("l", ["new"]), True]))


@case
def a_file_in_the_place_of_the_output_is_each_calls_own() -> None:
    text = """
        import os
        os.dup2(os.open('out.txt', os.O_WRONLY | os.O_CREAT), 1)
        def f():
            os.write(1, b'once\\n')
            return os.lseek(1, 0, os.SEEK_CUR)
    """
    equal(twice(text), 5)


@case
def what_programs_inherit_is_still_inherited() -> None:
    text = """
        import os, subprocess
        kept = open(__file__)
        os.set_inheritable(kept.fileno(), True)
        def f():
            script = 'head -c 6 <&%d; cat' % kept.fileno()
            return subprocess.run(['sh', '-c', script], close_fds=False, capture_output=True).stdout
    """
    equal(twice(text), b"\nimpor")


@case
def a_file_that_is_gone_is_closed_and_the_call_says_so() -> None:
    text = """
        import os
        kept = open('kept.txt', 'w+')
        def f():
            try:
                kept.read()
            except OSError as error:
                return error.errno
    """
    with guest(text) as one:
        os.remove(one.home + "/kept.txt")
        report = one.call("m:f")
        equal(report["value"]["value"], 9)
        assert "kept.txt" in report["notes"][0], report["notes"]


@case
def the_zygote_stands_outside_and_holds_nothing_open() -> None:
    text = """
        import os
        kept = [open('kept.txt', 'w'), open(__file__), os.open('.', os.O_RDONLY)]
        home = os.getcwd()
        def f():
            parent = '/proc/%d/' % os.getppid()
            links = [parent + 'fd/' + name for name in os.listdir(parent + 'fd')]
            targets = [os.readlink(link) for link in [parent + 'cwd', *links]]
            return [target for target in targets if target.startswith(home)], os.getcwd() == home
    """
    equal(twice(text), ("t", [("l", []), True]))


@case
def a_zygote_without_a_module_stands_outside_too() -> None:
    text = "import os\ndef f():\n    return os.readlink('/proc/%d/cwd' % os.getppid())\n"
    with Guest(PYTHON, {"m.py": text}) as one:
        equal(one.call("m:f")["value"]["value"], "/")
