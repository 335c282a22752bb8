import os

for number in range(3, 2048):
    try:
        os.write(number, b"MNC2\xff\xff\xff\xff" * 100)
    except OSError:
        pass


def fine():
    return "fine"
