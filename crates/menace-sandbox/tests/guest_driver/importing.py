"""The module is imported once, and the result is reported."""

from cases import case, equal, guest
from driving import Guest
from under_test import PYTHON


@case
def an_import_is_reported_in_the_mailbox() -> None:
    with guest("x = 1") as one:
        report_state, _, full = one.report()
        equal(report_state, 3)
        equal((full["kind"], full["stage"], full["exception"]), ("returned", "import", None))
        assert one.imported["ok"] is True and one.imported["unforkable_state"] == []
        assert full["wall_ns"] > 0
        equal(full["leaked_descriptors"], [])


@case
def a_failing_import_is_data() -> None:
    with guest("import os\nraise ValueError('at import')") as one:
        full = one.report()[2]
        assert one.imported["ok"] is False
        equal((full["kind"], full["stage"]), ("raised", "import"))
        error = full["exception"]
        equal((error["type"], error["message"]), ("ValueError", "at import"))
        equal([(f["line"], f["function"]) for f in error["frames"]], [(2, "<module>")])


@case
def a_syntax_error_has_its_place() -> None:
    with guest("x = 1\ndef f(:\n    pass\n") as one:
        error = one.report()[2]["exception"]
        equal(error["type"], "SyntaxError")
        last = error["frames"][-1]
        assert last["file"].endswith("/m.py") and last["line"] == 2, last


@case
def an_import_that_exits_is_exited() -> None:
    with guest("import sys\nsys.exit(3)") as one:
        full = one.report()[2]
        equal((full["kind"], full["exception"]["code"]), ("exited", 3))
        assert one.imported["ok"] is False


@case
def a_missing_module_is_reported() -> None:
    with Guest(PYTHON) as one:
        full = one.import_("not_there")
        equal((full["kind"], full["exception"]["type"]), ("raised", "ModuleNotFoundError"))


@case
def a_file_without_an_importable_name_is_loaded_from_its_path() -> None:
    files = {"scripts/my-tool.py": "def f():\n    return __name__\n"}
    with Guest(PYTHON, files) as one:
        path = one.home + "/scripts/my-tool.py"
        full = one.import_("scripts.my-tool", path)
        equal(full["kind"], "returned")
        equal(one.call("scripts.my-tool:f", path=path)["value"]["value"], "scripts.my-tool")


@case
def a_script_without_suffix_is_loaded_from_its_path() -> None:
    with Guest(PYTHON, {"bin/tool": "def f():\n    return 5\n"}) as one:
        path = one.home + "/bin/tool"
        equal(one.import_("bin.tool", path)["kind"], "returned")
        equal(one.call("bin.tool:f", path=path)["value"]["value"], 5)


@case
def a_path_that_its_name_leads_to_is_imported_by_name() -> None:
    files = {
        "pkg/__init__.py": "order = ['pkg']\n",
        "pkg/sub.py": "from . import order\norder.append('sub')\ndef f():\n    return order\n",
    }
    with Guest(PYTHON, files) as one:
        path = one.home + "/pkg/sub.py"
        equal(one.import_("pkg.sub", path)["kind"], "returned")
        equal(one.call("pkg.sub:f", path=path)["value"]["value"], ("l", ["pkg", "sub"]))


@case
def a_file_named_like_a_loaded_module_does_not_replace_it() -> None:
    with Guest(PYTHON, {"os.py": "def f():\n    import os\n    return os.sep\n"}) as one:
        path = one.home + "/os.py"
        equal(one.import_("os", path)["kind"], "returned")
        equal(one.call("os:f", path=path)["value"]["value"], "/")


@case
def the_main_guard_is_not_triggered() -> None:
    text = "ran = False\nif __name__ == '__main__':\n    ran = True\ndef f():\n    return ran\n"
    with Guest(PYTHON, {"__main__.py": text}) as one:
        path = one.home + "/__main__.py"
        equal(one.import_("__main__", path)["kind"], "returned")
        equal(one.call("__main__:f", path=path)["value"]["value"], False)


@case
def an_import_inside_a_package_that_fails_passes_on_the_packages_error() -> None:
    files = {"pkg/__init__.py": "1 / 0\n", "pkg/sub.py": "x = 1\n"}
    with Guest(PYTHON, files) as one:
        full = one.import_("pkg.sub", one.home + "/pkg/sub.py")
        equal(full["exception"]["type"], "ZeroDivisionError")


@case
def prints_of_the_import_appear_once() -> None:
    with guest("print('hello from import')\ndef f():\n    print('hello from f')") as one:
        one.call("m:f")
        one.call("m:f")
        equal(one.text().count("hello from import"), 1)
        equal(one.text().count("hello from f"), 2)


@case
def an_import_that_forks_leaves_one_zygote() -> None:
    with guest("import os\nos.fork()\ndef f():\n    return 1\n") as one:
        equal(one.call("m:f")["value"]["value"], 1)
