"""What each database would have brought alone, for a text that a recorded run wrote: a replay of its tokens, without any model.

The rounds follow from the text (:mod:`hsd_viz.bench.replay`). Cost stopping is off: every drafter drafts up to the same budget, as none
of them would where verifying costs.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

from hsd_viz.bench.replay import Replayed, Text, replay
from hsd_viz.drafting import Memory, SharedDatabases, make_drafter
from hsd_viz.drafting.shared import FIVEGRAMS, STORED
from hsd_viz.ladder.load import weights_dir
from hsd_viz.stack import parse
from hsd_viz.trace import Trace

#: The drafters that are replayed. ``db`` is all databases at hand; ``hd`` is Hierarchy Drafting as published.
DRAFTERS = ("db[context]", "db[model]", "db[statistics]", "db", "hd", "lookup")
#: Draft tokens a round: as many as ``hd`` puts up at the most (seven drafts of four tokens), and some.
BUDGETS = (8, 16, 32)
#: Tokens of a text that are replayed: the first ones of a longer run.
MOST_TOKENS = 4_000


@dataclass(frozen=True, slots=True)
class Alone:
    """A drafter and what its rounds would have been; without them, ``why`` in one sentence."""

    drafter: str
    replayed: Replayed | None
    why: str = ""

    @property
    def length(self) -> float:
        """Tokens per forward of the target."""
        return self.replayed.tokens / self.replayed.rounds if self.replayed and self.replayed.rounds else 0.0


def at_hand(trace: Trace) -> SharedDatabases:
    """The shipped databases, where the run's token ids mean the same text there; else none, with the reason."""
    folder = weights_dir()
    try:
        vocabulary = _vocabulary(folder / "target" / "tokenizer.json")
    except (OSError, ValueError, KeyError, TypeError):
        return _none("no shipped databases are installed here")
    texts = {number: _text(token) for token, number in vocabulary.items()}
    # A token that is no whole character has no text of its own to compare.
    if any(texts.get(number, "") not in (None, piece) for number, piece in trace.pieces.items()):
        return _none("the shipped databases are of another tokenizer than this run's")
    return SharedDatabases.open(folder / "databases", vocabulary)


def alone(trace: Trace, databases: SharedDatabases, budget: int) -> list[Alone]:
    """Each of :data:`DRAFTERS` on the text of ``trace``, up to ``budget`` draft tokens a round, in a memory of its own (cold)."""
    output = tuple(trace.token_ids[:MOST_TOKENS])
    text = Text("", tuple(trace.meta["prompt_ids"]), output)
    whole = len(output) == len(trace.token_rows)
    ended = whole and trace.meta.get("stop_reason") == "eos" and bool(output)
    eos = frozenset(output[-1:]) if ended else frozenset()
    limit = max(len(output), int(trace.meta.get("max_new_tokens") or 0)) if whole else None
    temperature = float((trace.meta.get("sampling") or {}).get("temperature") or 0.0)
    found = ["context", *(s for s in STORED if s in databases.found)]
    results = []
    for name in DRAFTERS:
        # `db` takes what is at hand; named, so that nothing that has to see the target's rows stands in for what is not.
        written = f"db[{','.join(found)}]" if name == "db" else name
        try:
            bottom = parse(f"{written} > target").bottom
            drafter = make_drafter(
                bottom, databases=databases, memory=Memory(), eos=eos, costs=None, temperature=temperature
            )
            results.append(Alone(name, replay(drafter, text, budget, eos, limit)))
        except ValueError as error:
            results.append(Alone(name, None, str(error)))
    return results


def _none(why: str) -> SharedDatabases:
    return SharedDatabases({}, dict.fromkeys((*STORED, FIVEGRAMS), why))


def _vocabulary(path: Path) -> dict[str, int]:
    """Token → id of a ``tokenizer.json``: the file says it without the library that wrote it."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return {**data["model"]["vocab"], **{added["content"]: added["id"] for added in data["added_tokens"]}}


def _text(token: str) -> str | None:
    """The text of a byte-level token, ``None`` where its bytes are no whole characters; other tokens stand for themselves."""
    try:
        return bytes(_bytes()[c] for c in token).decode("utf-8")
    except KeyError:
        return token
    except UnicodeDecodeError:
        return None


@functools.cache
def _bytes() -> dict[str, int]:
    """The byte behind each character of byte-level BPE: visible ones stand for themselves, the others are moved up from 256 on (GPT-2)."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in seen]
    return {chr(b): b for b in seen} | {chr(256 + k): b for k, b in enumerate(hidden)}
