import signal

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, set(range(1, 65)) - {32, 33})


def fine():
    return "fine"


def loop():
    while True:
        pass
