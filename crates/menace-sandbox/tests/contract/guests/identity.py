"""Returns its user id."""

import os


def user_id():
    return os.getuid()
