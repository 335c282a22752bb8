"""What an import leaves that a fork would share."""

from cases import case, equal, guest


def keeps_of(text):
    with guest(text) as one:
        return one.imported["keeps"]


@case
def a_plain_import_keeps_nothing():
    text = """
        import os
        kept = open(os.devnull), open('/dev/urandom', 'rb'), os.open('/', 0), open(__file__)
    """
    equal(keeps_of(text), [])


@case
def a_thread_is_kept():
    text = """
        import threading, time
        threading.Thread(target=time.sleep, args=(60,), name='ticker', daemon=True).start()
    """
    equal(keeps_of(text), ["thread ticker"])


@case
def a_child_process_is_kept_but_a_zombie_is_not():
    text = """
        import os
        pid = os.posix_spawn('/bin/true', ['true'], {})
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    """
    equal(keeps_of(text), [])
    text = "import os, time\nif os.fork() == 0:\n    time.sleep(0.5)\n    os._exit(0)\n"
    equal(keeps_of(text), ["child process"])


@case
def pipes_and_sockets_are_kept():
    kept = keeps_of("import os, socket\np = os.pipe()\ns = socket.socket()\n")
    equal(sorted(text.split()[0] for text in kept), ["pipe", "pipe", "socket"])


@case
def an_event_loop_is_kept():
    kept = keeps_of("import asyncio\nloop = asyncio.new_event_loop()\n")
    assert any(text.startswith("eventpoll") for text in kept), kept


@case
def shared_memory_is_kept():
    kept = keeps_of("import mmap\nm = mmap.mmap(-1, 4096)\n")
    assert len(kept) == 1 and kept[0].startswith("shared mapping"), kept


@case
def an_unlinked_file_is_kept():
    kept = keeps_of("import tempfile\nf = tempfile.TemporaryFile()\n")
    assert len(kept) == 1 and kept[0].startswith("unlinked file"), kept


@case
def each_call_has_its_own_place_in_a_file_left_open():
    text = """
        log = open('log.txt', 'w', buffering=1)
        log.write('import\\n')
        def f():
            log.write('called\\n')
            return log.tell()
    """
    with guest(text) as one:
        first = one.call("m:f")
        second = one.call("m:f")
        equal(first["value"]["value"], second["value"]["value"])
        equal(first["notes"], [])
        with open(one.home + "/log.txt") as file:
            equal(file.read(), "import\ncalled\n")
