"""llama.cpp: responses with ``timings``, and the log of llama-server."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hsd_viz.adapters import ENGINES
from hsd_viz.adapters.record import counts_of, imported
from hsd_viz.trace import Trace

NAME = "llama.cpp"
_NUMBER = r"([\d.]+)"
_LINE = re.compile(
    rf"draft acceptance(?: rate)? = {_NUMBER} \(\s*(\d+) accepted /\s*(\d+) generated\)"
    rf"(?:, mean (?:acceptance length|len) =\s*{_NUMBER})?(?:, acceptance rate per position = \(([\d., ]+)\))?"
)
_STATISTICS = re.compile(r"statistics\s+([\w-]+): #calls")
_TIME = re.compile(rf"\beval time =\s*{_NUMBER} ms /\s*(\d+) (?:tokens|runs)")


def read(response: Mapping) -> Trace | None:
    """Return the trace of a response, ``None`` if it is of another form."""
    found = response.get("timings")
    if not isinstance(found, Mapping) or "draft_n" not in found:
        return None
    times = {"prefill_ms": found.get("prompt_ms"), "decode_ms": found.get("predicted_ms")}
    return imported(NAME, counts_of(NAME, found), **times)


def read_text(text: str) -> Iterator[Trace]:
    """Yield the traces of the lines that llama-server prints after each request."""
    for block in re.split(r"(?=prompt eval time =)", text):
        if (line := _LINE.search(block)) is None:
            continue
        _, accepted, drafted, length, rates = line.groups()
        known: dict[str, Any] = {"accepted": int(accepted), "drafted": int(drafted)}
        if length and float(length) > 1:
            known["verifications"] = round(int(accepted) / (float(length) - 1))
        if rates:
            known["position_rate"] = [float(rate) for rate in rates.split(",")]
        times = [(float(ms), int(n)) for ms, n in _TIME.findall(block)]
        # The prompt's line comes first; both match.
        prompt, decode = (
            times[0][0] if len(times) > 1 else None,
            times[-1] if times else (None, None),
        )
        known["tokens"] = decode[1]
        names = [name for name in ("verifications", "position_rate") if name in known]
        used = _STATISTICS.search(block)
        other = "lookup" if used and "ngram" in used[1] else "draft"
        method = None if used is None else ENGINES[NAME]["methods"].get(used[1], other)
        yield imported(
            NAME, known, derived=names, prefill_ms=prompt, decode_ms=decode[0], method=method
        )
