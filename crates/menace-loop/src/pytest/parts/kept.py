import gc
import shutil
import tempfile
import tracemalloc


def keep(call, times):
    """Makes the call so often, and ends the process with 8 when each of them keeps memory or leaves a file."""
    directory = tempfile.mkdtemp()
    tempfile.tempdir = os.environ["TMPDIR"] = directory
    held = []
    tracemalloc.start()
    for _ in range(times + 1):
        use(call())
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
    files = len(os.listdir(directory))
    shutil.rmtree(directory)
    late = held[len(held) // 2 :]
    grown = sum(after > before for before, after in zip(late, late[1:]))
    each = (late[-1] - late[0]) // (len(late) - 1)
    sys.stderr.write(str(each) + " bytes" + (" and a file" if files > times else ""))
    sys.stderr.flush()
    os._exit(8 if files > times or (each >= 256 and 2 * grown > len(late) - 1) else 0)
