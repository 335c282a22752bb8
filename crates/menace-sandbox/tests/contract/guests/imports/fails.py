import json

json.loads("{")
