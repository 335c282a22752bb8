import gc
import tracemalloc


def keep(call, times):
    """Makes the call so often, and ends the process with 8 when each of them keeps memory."""
    held = []
    tracemalloc.start()
    for _ in range(times + 1):
        use(call())
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
    late = held[len(held) // 2 :]
    grown = sum(after > before for before, after in zip(late, late[1:]))
    each = (late[-1] - late[0]) // (len(late) - 1)
    sys.stderr.write(str(each) + " bytes")
    sys.stderr.flush()
    os._exit(8 if each >= 256 and 2 * grown > len(late) - 1 else 0)
