import ctypes

ctypes.CDLL(None).ptrace(0, 0, 0, 0)


def fine():
    return "fine"
