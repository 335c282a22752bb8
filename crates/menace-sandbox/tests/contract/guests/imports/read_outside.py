try:
    CONTENT = open("/etc/shadow").read()
except OSError:
    CONTENT = None


def fine():
    return "fine"
