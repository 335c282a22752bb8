"""Writes `members.txt`: what instances of common classes have, one class per line.

python3 members.py > members.txt

A parameter on which a section calls `.readline()` is a file, whatever it is called. Private names
are left out, and so is what every object has; what operators need is written as the operator's
method (`__getitem__`).
"""

import importlib

CLASSES = """
builtins.str builtins.bytes builtins.bytearray builtins.int builtins.float builtins.complex
builtins.bool builtins.list builtins.tuple builtins.dict builtins.set builtins.frozenset
builtins.range builtins.memoryview builtins.slice
io.StringIO io.BytesIO pathlib.Path datetime.datetime datetime.date datetime.time
datetime.timedelta datetime.timezone decimal.Decimal fractions.Fraction uuid.UUID
re.Pattern re.Match collections.deque collections.OrderedDict collections.Counter
collections.defaultdict collections.ChainMap argparse.Namespace argparse.ArgumentParser
logging.Logger logging.LogRecord logging.Handler threading.Thread threading.Event
threading.Condition threading.Semaphore queue.Queue random.Random
email.message.Message email.message.EmailMessage xml.etree.ElementTree.Element
xml.etree.ElementTree.ElementTree xml.dom.minidom.Document configparser.ConfigParser
sqlite3.Connection sqlite3.Cursor types.SimpleNamespace types.ModuleType types.FunctionType
types.CodeType types.FrameType types.TracebackType types.MethodType array.array
contextlib.ExitStack asyncio.Queue asyncio.Event asyncio.Lock struct.Struct
ipaddress.IPv4Address ipaddress.IPv4Network string.Template string.Formatter
subprocess.CompletedProcess concurrent.futures.Future concurrent.futures.ThreadPoolExecutor
functools.partial inspect.Signature inspect.Parameter ast.Module ast.FunctionDef
zipfile.ZipFile http.cookies.SimpleCookie urllib.request.Request urllib.parse.ParseResult
time.struct_time os.stat_result textwrap.TextWrapper codecs.CodecInfo mailbox.mbox
types.GeneratorType types.MappingProxyType enum.Enum shlex.shlex csv.DictReader csv.DictWriter
csv.Dialect calendar.Calendar json.JSONEncoder json.JSONDecoder socket.socket
weakref.WeakValueDictionary tokenize.TokenInfo
""".split()
OPERATORS = """
__getitem__ __setitem__ __delitem__ __contains__ __iter__ __len__ __call__ __enter__ __exit__
__next__ __add__ __sub__ __mul__ __truediv__ __mod__ __index__ __float__ __int__
__aenter__ __aiter__ __await__ __fspath__ __reversed__ __name__ __doc__ __dict__ __code__
""".split()
# Only instances have these.
ATTRIBUTES = {
    "logging.LogRecord": "name msg args levelname levelno pathname filename module exc_info "
    "exc_text lineno funcName created thread threadName process stack_info",
    "threading.Thread": "name daemon ident",
    "subprocess.CompletedProcess": "args returncode stdout stderr",
    "xml.etree.ElementTree.Element": "tag text tail attrib",
    "argparse.ArgumentParser": "prog usage description epilog prefix_chars",
    "urllib.request.Request": "full_url headers data type host selector unredirected_hdrs",
    "ast.FunctionDef": "name args body decorator_list returns lineno col_offset",
    "ast.Module": "body type_ignores",
    "logging.Logger": "name level parent propagate handlers disabled",
    "logging.Handler": "level formatter lock filters",
    "queue.Queue": "maxsize mutex queue not_empty not_full unfinished_tasks",
    "textwrap.TextWrapper": "width initial_indent subsequent_indent",
    "csv.DictReader": "fieldnames reader line_num dialect restkey restval",
    "csv.DictWriter": "fieldnames writer restval extrasaction",
    "shlex.shlex": "instream infile lineno token eof commenters wordchars whitespace quotes state",
    "calendar.Calendar": "firstweekday",
    "zipfile.ZipFile": "filename mode filelist comment fp",
    "enum.Enum": "name value",
}


def find(dotted: str) -> type:
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)


def main() -> None:
    for dotted in CLASSES:
        found = find(dotted)
        names = {name for name in dir(found) if name[0] != "_"}
        names |= {name for name in OPERATORS if name in dir(found) and name != "__doc__"}
        names |= set(ATTRIBUTES.get(dotted, "").split())
        if not any("__call__" in vars(base) for base in found.__mro__):
            names.discard("__call__")
        names -= {"__dict__"}
        if getattr(found, "__iter__", None) is None:
            names.discard("__iter__")
        print(dotted, *sorted(names))


main()
