import builtins
import gc
import json
import os
import sys
import time


def nonsense(*args, **kwargs):
    raise RuntimeError("patched")


for name in ("_exit", "fork", "write", "read", "close", "getpid", "waitpid", "setsid", "chdir"):
    setattr(os, name, nonsense)
    setattr(sys.modules["posix"], name, nonsense)
for name in ("time", "monotonic", "perf_counter", "perf_counter_ns", "process_time_ns"):
    setattr(time, name, nonsense)
json.dumps = json.loads = gc.collect = sys.exit = nonsense
put = setattr
NAMES = "setattr len isinstance type repr getattr print dict list str"
for name in NAMES.split():
    put(builtins, name, nonsense)
sys.setrecursionlimit(200)


def fine():
    return "fine"
