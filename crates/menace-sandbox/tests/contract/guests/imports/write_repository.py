import os

with open("guest.py", "a") as file:
    file.write("raise SystemExit\n")
os.remove(".git/HEAD")
with open("written.txt", "w") as file:
    file.write("by the import")


def fine():
    return "fine"


def written():
    with open("written.txt") as file:
        return file.read(), os.path.exists(".git/HEAD")


def write_more():
    with open("written.txt", "a") as file:
        file.write(" and by a call")
    return written()
