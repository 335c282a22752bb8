"""Does while it is imported what a function of another module does."""

import json
import os

import deeds

getattr(deeds, os.environ["DEED"])(*json.loads(os.environ["DEED_WITH"]))


def fine():
    return "fine"
