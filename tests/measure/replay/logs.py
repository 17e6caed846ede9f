"""Logs for the tests."""

from __future__ import annotations

import json


def write(path, *entries):
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path
