import os
import resource


@contextlib.contextmanager
def small_disk(size):
    """No file can grow beyond so many bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def files(directory):
    """What is in all files."""
    found = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


def keeps_files_whole(call, prepare, directory):
    """Fails when a disk that is full leaves a file that is neither the old one nor the new one.

    Nor may a call that returned have written less than it does without trouble.
    """

    def fresh(name):
        place = directory / name
        place.mkdir()
        os.chdir(place)
        prepare()
        return place

    place = fresh("untroubled")
    before = files(place)
    use(call())
    whole = files(place)
    written = {name: text for name, text in whole.items() if before.get(name) != text}
    lengths = {len(text) for text in written.values()}
    sizes = {size for length in lengths for size in (0, 1, length // 2, length - 1)}
    for size in sorted(size for size in sizes if size >= 0):
        place = fresh("with-" + str(size))
        with small_disk(size):
            try:
                use(call())
                returned = True
            except Exception:
                returned = False
        now = files(place)
        for name, text in written.items():
            if returned:
                assert now.get(name) == text, name + " was not written, and nobody was told"
            else:
                assert now.get(name) in (before.get(name), text), name + " is cut off"
