"""Write the three logs of the lab sheet: a chat with a draft model, edits of code, and a busy
server.

They are made up, with a fixed seed, in the forms that vLLM and the replay read. The lab sheet says
so.

    python -m tools.record.lab_logs
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "notebooks" / "course" / "master" / "lab"
#: The probability that position k is accepted if all before it were, of a draft model for a chat
#: and of a busy server.
CHAT = (0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
BUSY = (0.5, 0.4, 0.35, 0.3, 0.3)
FUNCTIONS = ("load", "save", "count", "merge", "check", "clean", "split", "sort")
EDITED = """\
def {name}(path, rows):
    found = []
    for row in rows:
        if row.get("{key}") is None:
            continue
        found.append(row["{key}"])
    return {last}
"""


def server_log(
    survival: Sequence[float], running: int, speed: float, rounds: int, seed: int
) -> str:
    """Return ten reports of a vLLM server; ``speed`` is in tokens per second of all its
    requests.
    """
    numbers = random.Random(seed)
    lines = []
    for report in range(10):
        reached = [rounds]
        for chance in survival:
            reached.append(sum(numbers.random() < chance for _ in range(reached[-1])))
        accepted = sum(reached[1:])
        drafted = rounds * len(survival)
        rates = ", ".join(f"{count / rounds:.3f}" for count in reached[1:])
        time = f"INFO 11-29 10:{report:02}:00"
        generated = speed * numbers.uniform(0.98, 1.02)
        lines += [
            f"{time} [loggers.py:259] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
            f"Avg generation throughput: {generated:.1f} tokens/s, Running: {running} reqs, "
            "Waiting: 0 reqs, GPU KV cache usage: 11.0%, Prefix cache hit rate: 0.0%",
            f"{time} [metrics.py:101] SpecDecoding metrics: "
            f"Mean acceptance length: {1 + accepted / rounds:.2f}, "
            f"Accepted throughput: {accepted / 10:.2f} tokens/s, "
            f"Drafted throughput: {drafted / 10:.2f} tokens/s, Accepted: {accepted} tokens, "
            f"Drafted: {drafted} tokens, Per-position acceptance rate: {rates}, "
            f"Avg Draft acceptance rate: {accepted / drafted:.1%}",
        ]
    return "\n".join(lines) + "\n"


def edits() -> str:
    """Return requests that ask for a function again with one change."""
    lines = []
    for name in FUNCTIONS:
        before = EDITED.format(name=name, key="size", last="found")
        after = EDITED.format(name=name, key="size", last="sorted(found)")
        lines.append(json.dumps({"prompt": f"# Sort the result.\n{before}\n", "output": after}))
    return "\n".join(lines) + "\n"


def logs() -> dict[str, str]:
    """Return the logs by the names of their files."""
    return {
        "chat.log": server_log(CHAT, running=1, speed=51.0, rounds=160, seed=1),
        "edits.jsonl": edits(),
        "busy.log": server_log(BUSY, running=64, speed=1500.0, rounds=900, seed=2),
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in logs().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(FOLDER / name)
