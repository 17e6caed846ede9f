"""A capture that fails, in a process of its own: what it leaves behind on a device would disturb other tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
FAULTS = {"reads": "reads a number back", "copies": "copies from ordinary memory"}
CODE = """
import sys
sys.path[:0] = [{paths}]
import torch
from decodes import model

device, fault = "{device}", "{fault}"
m = model(0.0, device, torch.float64, "lean")
honest, faults = m.forward, []


class Faulty:
    def __call__(self, ids, positions, seen, cache, rows):
        if len(ids) == 3:
            faults.append(int(ids[0]) if fault == "reads" else torch.tensor([1], device=ids.device))
        return honest(ids, positions, seen, cache, rows)

    def prepare(self, cache):
        honest.prepare(cache)


m.forward = Faulty()
plain, session = model(0.0, device, torch.float64).session(), m.session()
for n in (3, 3, 3, 1, 1, 1, 2, 2, 2):
    assert torch.allclose(session.forward([9] * n, n), plain.forward([9] * n, n), atol=1e-5)
assert "cannot be captured" in m.reason and len(faults) >= 3 and m.captures == 2
if device == "cuda":
    # Nothing is recorded any more: memory that was freed comes back.
    for _ in range(3):
        big = torch.empty(1 << 28, device=device)
        del big
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() < 1 << 29
print("survived")
"""


@pytest.mark.parametrize("fault", FAULTS, ids=FAULTS.values())
def test_a_capture_that_fails_leaves_all_else_working(fault, device):
    """Such work is done each time, as before; other work is captured nonetheless. The first fault is found before, the
    second in the capture.
    """
    if device == "cpu" and fault == "copies":
        pytest.skip("on the CPU nothing is copied")
    tests = HERE.parent
    paths = ", ".join(repr(str(path)) for path in (HERE, tests / "lossless", tests / "backends"))
    code = CODE.format(paths=paths, device=device, fault=fault)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=500)
    assert done.stdout.endswith("survived\n"), done.stderr[-2000:]
