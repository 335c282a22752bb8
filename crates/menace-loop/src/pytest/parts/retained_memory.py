import gc
import shutil
import tempfile
import tracemalloc


def check_retained_memory(call, times):
    """Makes the call repeatedly; exits with 8 when each call retains memory or leaves a file."""
    directory = tempfile.mkdtemp()
    tempfile.tempdir = os.environ["TMPDIR"] = directory
    traced_bytes = []
    tracemalloc.start()
    for _ in range(times + 1):
        consume(call())
        gc.collect()
        traced_bytes.append(tracemalloc.get_traced_memory()[0])
    files = len(os.listdir(directory))
    shutil.rmtree(directory)
    late = traced_bytes[len(traced_bytes) // 2 :]
    increases = sum(after > before for before, after in zip(late, late[1:]))
    each = (late[-1] - late[0]) // (len(late) - 1)
    sys.stderr.write(str(each) + " bytes" + (" and a file" if files > times else ""))
    sys.stderr.flush()
    os._exit(8 if files > times or (each >= 256 and 2 * increases > len(late) - 1) else 0)
