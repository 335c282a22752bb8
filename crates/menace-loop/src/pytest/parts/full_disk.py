import os
import resource


@contextlib.contextmanager
def limit_file_size(size):
    """Lets no file grow beyond `size` bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def read_files(directory):
    """Path and content of all files."""
    found = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


def leaves_no_partial_file(call, prepare, directory):
    """Fails when a full disk leaves a file that is neither the old one nor the new one.

    A call that returned must have written all that it writes without the limit.
    """

    def fresh(name):
        place = directory / name
        place.mkdir()
        os.chdir(place)
        prepare()
        return place

    place = fresh("unlimited")
    before = read_files(place)
    consume(call())
    whole = read_files(place)
    written = {name: text for name, text in whole.items() if before.get(name) != text}
    lengths = {len(text) for text in written.values()}
    sizes = {size for length in lengths for size in (0, 1, length // 2, length - 1)}
    for size in sorted(size for size in sizes if size >= 0):
        place = fresh("with-" + str(size))
        with limit_file_size(size):
            try:
                consume(call())
                returned = True
            except Exception:
                returned = False
        now = read_files(place)
        for name, text in written.items():
            if returned:
                assert now.get(name) == text, name + " was not written, and the call did not raise"
            else:
                assert now.get(name) in (before.get(name), text), name + " is cut off"
