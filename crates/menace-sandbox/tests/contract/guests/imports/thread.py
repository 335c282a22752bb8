import threading
import time

threading.Thread(target=time.sleep, args=(3600,), daemon=True, name="lingering").start()


def fine():
    return "fine"
