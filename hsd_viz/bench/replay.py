"""Replay a text without a model: the rounds that a drafter would have needed for it.

A drafter that proposes tokens (point masses) does not change the text: greedy decoding takes the most likely tokens,
and draws are keyed by position. Given a text of the target, the rounds that any such drafter would have needed follow
from the text alone, and thousands of drafts can be evaluated per second. Drafters that read the target's rows
(:mod:`hsd_viz.drafting.tree`) cannot be replayed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from hsd_viz.drafting import Memory, SharedDatabases, make_drafter
from hsd_viz.drafting.make import FIVEGRAMS, STORED
from hsd_viz.drafting.tree import Drafter, DraftTree, LogitsObserver, Observer
from hsd_viz.ladder.load import weights_dir
from hsd_viz.stack import parse
from hsd_viz.trace import Trace

#: The drafters of :func:`alone`. ``db`` has all available databases; ``hd`` is Hierarchy Drafting as published.
DRAFTERS = ("db[context]", "db[model]", "db[statistics]", "db", "hd", "lookup")
#: Draft tokens per round, up to somewhat more than ``hd`` proposes at most (seven drafts of four tokens).
BUDGETS = (8, 16, 32)
#: The first tokens of a text, which are replayed.
MOST_TOKENS = 4_000


@dataclass(frozen=True, slots=True)
class Text:
    """A prompt and the target's output, as token ids."""

    category: str
    prompt: tuple[int, ...]
    output: tuple[int, ...]


@dataclass(slots=True)
class Replayed:
    """``tokens`` emitted in ``rounds`` of the target, with ``drafted`` nodes. ``examined`` and ``accepted`` count draft
    tokens by (source, key length): those whose parent was on the accepted path, and those on the path. ``shapes``
    counts rounds by (nodes, depth of the tree, accepted tokens).
    """

    tokens: int = 0
    rounds: int = 0
    drafted: int = 0
    examined: Counter = field(default_factory=Counter)
    accepted: Counter = field(default_factory=Counter)
    shapes: Counter = field(default_factory=Counter)

    def add(self, other: Replayed) -> None:
        """Add another text's counts."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def can_replay(drafter: Drafter) -> bool:
    """Return whether the drafter reads nothing but the text."""
    return not isinstance(drafter, Observer | LogitsObserver)


def replay(
    drafter: Drafter, text: Text, budget: int, eos: frozenset[int] = frozenset(), limit: int | None = None
) -> Replayed:
    """Draft as a decode that wrote ``text`` would have; ``limit``: its max new tokens (default: all written). Raises:
    ValueError: if the drafter reads the target's rows.
    """
    if not can_replay(drafter):
        raise ValueError(f"'{drafter.name}' reads the target's rows: it cannot be replayed")
    output, at = text.output, 0
    last = limit or len(output)
    done = Replayed()
    written = list(text.prompt)
    drafter.start(text.prompt)
    while at < len(output):
        tree = drafter.draft(written, budget).within(last - at - 1) if last - at > 1 else DraftTree()
        path = _walk(tree, output[at : at + len(tree) + 1], eos)
        emitted = len(path) + (not path or tree.tokens[path[-1]] not in eos)
        new = output[at : at + emitted]
        drafter.extend(new)
        written += new
        at += emitted
        done.tokens += len(new)
        done.shapes[len(tree), max(tree.depths(), default=0), len(path)] += 1
        done.rounds += 1
        done.drafted += len(tree)
        places = {-1, *path}
        for node, parent in enumerate(tree.parents):
            if parent in places:
                done.examined[tree.sources[node], tree.key_lengths[node] or 0] += 1
        for node in path:
            done.accepted[tree.sources[node], tree.key_lengths[node] or 0] += 1
    return done


def _walk(tree: DraftTree, ahead: Sequence[int], eos: frozenset[int]) -> list[int]:
    """Return the nodes on the path of the tokens ``ahead``, up to an end of text."""
    children = {
        (parent, token): node for node, (parent, token) in enumerate(zip(tree.parents, tree.tokens, strict=True))
    }
    path: list[int] = []
    for token in ahead:
        node = children.get((path[-1] if path else -1, token))
        if node is None:
            break
        path.append(node)
        if token in eos:
            break
    return path


@dataclass(frozen=True, slots=True)
class Alone:
    """A drafter and its replayed rounds, or ``why`` there are none."""

    drafter: str
    replayed: Replayed | None
    why: str = ""

    @property
    def length(self) -> float:
        """Tokens per forward pass of the target."""
        return self.replayed.tokens / self.replayed.rounds if self.replayed and self.replayed.rounds else 0.0


def alone(trace: Trace, databases: SharedDatabases, budget: int) -> list[Alone]:
    """Replay each of :data:`DRAFTERS` alone on the text of ``trace``, with up to ``budget`` draft tokens per round.
    Each has its own empty memory (cold). Cost stopping is off, so that all propose up to the same budget.
    """
    output = tuple(trace.token_ids[:MOST_TOKENS])
    text = Text("", tuple(trace.meta["prompt_ids"]), output)
    whole = len(output) == len(trace)
    ended = whole and trace.meta.get("stop_reason") == "eos" and bool(output)
    eos = frozenset(output[-1:]) if ended else frozenset()
    limit = max(len(output), int(trace.meta.get("max_new_tokens") or 0)) if whole else None
    temperature = float((trace.meta.get("sampling") or {}).get("temperature") or 0.0)
    found = ["context", *(s for s in STORED if s in databases.found)]
    # The available databases are named, so that `db` does not take one that needs the target's rows instead.
    sources = {name: f"db[{','.join(found)}]" if name == "db" else name for name in DRAFTERS}
    options = {"databases": databases, "eos": eos, "costs": None, "temperature": temperature}

    def one(name: str) -> Alone:
        try:
            drafter = make_drafter(parse(f"{sources[name]} > target").bottom, memory=Memory(), **options)
            return Alone(name, replay(drafter, text, budget, eos, limit))
        except ValueError as error:
            return Alone(name, None, str(error))

    return [one(name) for name in DRAFTERS]


def available_databases(trace: Trace) -> SharedDatabases:
    """Return the shipped databases if they have the tokenizer of the run; else none, with the reason."""
    from tokenizers import Tokenizer

    folder = weights_dir()
    file = folder / "target" / "tokenizer.json"
    why = "no shipped databases are installed here"
    if file.exists():
        tokenizer = Tokenizer.from_file(str(file))
        texts = {number: tokenizer.decode([number], skip_special_tokens=False) for number in trace.pieces}
        # A token of incomplete characters has no text to compare.
        if all("\ufffd" in text or text == trace.pieces[number] for number, text in texts.items()):
            return SharedDatabases.open(folder / "databases", tokenizer.get_vocab(with_added_tokens=True))
        why = "the shipped databases have another tokenizer than this run"
    return SharedDatabases({}, dict.fromkeys((*STORED, FIVEGRAMS), why))
