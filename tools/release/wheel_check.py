"""Check an installed wheel: it decodes natively, and writes the recorded texts token for token.

``python wheel_check.py``, with the Python of the environment, needs nothing but the installed
package: the recordings are part of it. Exit code 1: a text differs, or numpy decodes.
"""

from __future__ import annotations

import platform
import sys
import time
from pathlib import Path

import hsd_viz
from hsd_viz.engine.local import load_engine
from hsd_viz.engine.recordings import bundled, load_bundled
from hsd_viz.models.families import LADDER
from hsd_viz.native.build import PACKAGED, default_build

#: The family that the data wheel has.
FAMILY = "code"
#: A model that recordings pad to slow it down; its text is that of the target.
PADDED = "target+24"


def recordings() -> list[str]:
    """Return the names of the recordings that the shipped models can repeat."""
    names = []
    for recording in bundled():
        meta = load_bundled(recording.name).meta
        models = {model["model"] for model in meta["models"]}
        if meta.get("family", FAMILY) == FAMILY and PADDED not in models:
            names.append(recording.name)
    return names


def is_repeated(engine: object, name: str) -> bool:
    """Decode a recording's prompt with its settings; return whether the tokens are the same."""
    trace = load_bundled(name)
    again = engine.run(  # type: ignore[attr-defined]
        trace.meta["prompt"],
        trace.meta["stack"],
        max_new_tokens=trace.meta["max_new_tokens"],
        **trace.meta["sampling"],
    )
    return again.token_ids == trace.token_ids


def main() -> int:
    """Print a line for each recording and return the exit code."""
    began = time.monotonic()
    build = default_build()
    is_native = build.wait()
    is_packaged = build.path is not None and build.path.parent == PACKAGED
    print(f"hsd_viz {hsd_viz.__version__} in {Path(hsd_viz.__file__).parent}")
    print(f"models in {LADDER}")
    print(f"{platform.machine()}: kernel {build.kernel}, packaged: {is_packaged}")
    engine = load_engine(family=FAMILY, device="cpu", threads=1)
    names = recordings()
    repeated = 0
    for name in names:
        same = is_repeated(engine, name)
        repeated += same
        print(f"{name}: {'the recorded tokens' if same else 'OTHER TOKENS'}", flush=True)
    print(f"{repeated} of {len(names)} in {time.monotonic() - began:.1f} s")
    return 0 if names and repeated == len(names) and is_native and is_packaged else 1


if __name__ == "__main__":
    sys.exit(main())
