"""Files and variables that a call finds, and what became of them."""

import os
import tempfile

from cases import case, equal, guest


@case
def a_call_finds_its_files_and_the_next_one_does_not() -> None:
    text = """
        import os
        def f(path):
            with open(path, 'rb') as file:
                return file.read()
        def change(path):
            with open(path, 'ab') as file:
                file.write(b'!')
        def same_size(path):
            with open(path, 'wb') as file:
                file.write(b'wxyz')
        def remove(path):
            os.remove(path)
        def block(path):
            os.remove(path)
            os.mkfifo(path)
    """
    with guest(text, files={"there.txt": "old"}) as one:
        full = one.call("m:f", ["made/deep/in.bin"], files=[["made/deep/in.bin", b"a\0b\xff"]])
        equal(full["value"]["value"], b"a\0b\xff")
        equal(full["fixture_files"], [["made/deep/in.bin", "same"]])
        equal((full["violations"], full["leaked_descriptors"], full["notes"]), ([], [], []))
        full = one.call("m:f", ["there.txt"], files=[["there.txt", b"new"]])
        equal(full["value"]["value"], b"new")
        for name, state in (("change", "changed"), ("same_size", "changed"), ("remove", "gone")):
            full = one.call("m:" + name, ["x.txt"], files=[["x.txt", b"abcd"], ["y.txt", b""]])
            equal(full["fixture_files"], [["x.txt", state], ["y.txt", "same"]], name)
        full = one.call("m:block", ["x.txt"], files=[["x.txt", b""]])
        equal(full["fixture_files"], [["x.txt", "changed"]])
        assert "fixture_files" not in one.call("m:f", ["there.txt"])


@case
def files_below_tmp_are_put_there_and_others_are_refused() -> None:
    name = os.path.join(tempfile.mkdtemp(prefix="menace-fixture-", dir="/tmp"), "in/x.txt")
    with guest("def f(path):\n    return open(path).read()") as one:
        full = one.call("m:f", [name], files=[[name, b"x"]])
        equal((full["value"]["value"], full["fixture_files"]), ("x", [[name, "same"]]))
        for bad in ("/etc/x", "../x", "/tmp/../etc/x", "a/../../x"):
            full = one.call("m:f", [one.home + "/m.py"], files=[[bad, b"x"]])
            assert any("was not put in place" in note for note in full["notes"]), (bad, full)
            equal(full["fixture_files"], [], bad)


@case
def variables_are_the_calls_alone_and_not_its_doing() -> None:
    text = """
        import os, subprocess
        def f():
            return os.environ.get('GIVEN'), os.getenv('PATH') is not None
        def below():
            return subprocess.check_output(['sh', '-c', 'echo $GIVEN']).decode().strip()
        def change():
            os.environ['GIVEN'] = 'other'
    """
    given = [["GIVEN", "wert\u00e4"]]
    with guest(text) as one:
        full = one.call("m:f", environment=given)
        equal(full["value"]["value"], ("t", ["wert\u00e4", True]))
        equal(full["state_changes"]["environ"], [])
        equal(one.call("m:below", environment=given)["value"]["value"], "wert\u00e4")
        equal(one.call("m:change", environment=given)["state_changes"]["environ"], ["GIVEN"])
        equal(one.call("m:f")["value"]["value"], ("t", [None, True]))
