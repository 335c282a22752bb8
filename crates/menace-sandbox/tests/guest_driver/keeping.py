"""What an import leaves that a fork would share."""

from __future__ import annotations

from cases import case, equal, guest


def keeps_of(text: str) -> list[str]:
    with guest(text) as one:
        return one.imported["unforkable_state"]


@case
def a_plain_import_keeps_nothing() -> None:
    text = """
        import os
        kept = open(os.devnull), open('/dev/urandom', 'rb'), os.open('/', 0), open(__file__)
    """
    equal(keeps_of(text), [])


@case
def a_thread_is_kept() -> None:
    text = """
        import threading, time
        threading.Thread(target=time.sleep, args=(60,), name='ticker', daemon=True).start()
    """
    equal(keeps_of(text), ["thread ticker"])


@case
def a_child_process_is_kept_but_a_zombie_is_not() -> None:
    text = """
        import os
        pid = os.posix_spawn('/bin/true', ['true'], {})
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    """
    equal(keeps_of(text), [])
    text = "import os, time\nif os.fork() == 0:\n    time.sleep(0.5)\n    os._exit(0)\n"
    equal(keeps_of(text), ["child process"])


@case
def pipes_and_sockets_are_kept() -> None:
    kept = keeps_of("import os, socket\np = os.pipe()\ns = socket.socket()\n")
    equal(sorted(text.split()[0] for text in kept), ["pipe", "pipe", "socket"])


@case
def an_event_loop_is_kept() -> None:
    kept = keeps_of("import asyncio\nloop = asyncio.new_event_loop()\n")
    assert any(text.startswith("eventpoll") for text in kept), kept


@case
def shared_memory_is_kept() -> None:
    for rights in "mmap.PROT_READ | mmap.PROT_WRITE", "mmap.PROT_READ":
        kept = keeps_of("import mmap\nm = mmap.mmap(-1, 4096, prot=" + rights + ")\n")
        assert len(kept) == 1 and kept[0].startswith("mapping "), kept


@case
def an_unlinked_file_is_kept() -> None:
    kept = keeps_of("import tempfile\nf = tempfile.TemporaryFile()\n")
    assert len(kept) == 1 and kept[0].startswith("unlinked file"), kept


@case
def an_unlinked_file_is_kept_even_if_it_can_only_be_read() -> None:
    text = """
        import os
        open('gone.txt', 'w').close()
        kept = open('gone.txt')
        os.remove('gone.txt')
    """
    kept = keeps_of(text)
    assert len(kept) == 1 and kept[0].startswith("unlinked file"), kept


@case
def a_file_that_another_took_the_place_of_is_kept() -> None:
    text = """
        import os
        kept = open(__file__)
        os.rename(__file__, 'moved.py')
        moved = open('moved.py')
        os.remove('moved.py')
        open('moved.py', 'w').close()
    """
    kept = keeps_of(text)
    assert len(kept) == 2 and all("moved.py" in text for text in kept), kept


@case
def a_fifo_is_kept() -> None:
    text = "import os\nos.mkfifo('fifo')\nkept = os.open('fifo', os.O_RDWR)\n"
    kept = keeps_of(text)
    assert len(kept) == 1 and kept[0].startswith("pipe /"), kept


@case
def a_pipe_is_kept_however_many_files_are_open_and_whatever_its_number() -> None:
    text = """
        import os
        files = [open(__file__) for _ in range(100)]
        reader, writer = os.pipe()
        os.dup2(reader, 0)
        os.dup2(writer, 1)
        os.close(reader)
        os.close(writer)
    """
    equal(keeps_of(text), ["pipe 0", "pipe 1"])
