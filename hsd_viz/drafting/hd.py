"""``hd``: Hierarchy Drafting as published. One-token keys, databases accessed in order until seven
drafts are found.

Source: Cho et al., "Lossless Acceleration of Large Language Models with Hierarchical Drafting based
on Temporal Locality in Speculative Decoding", Findings of NAACL 2025, arXiv 2502.05609 (repository
zomss/Hierarchy_Drafting), re-implemented from its description. The method, with the paper's
settings:

* A draft is 4 tokens, at most 7 drafts per step, at most 5 tokens emitted. The databases are
  accessed in order (context, model, statistics); once 7 drafts are found, the less local ones are
  skipped. There are no scores and no confidence threshold.
* **Context**: every 5-gram of the text by its first token, in LRU buckets of 7.
* **Model**: the 100 000 most frequent 5-grams of the target's own outputs, at most 7 per first
  token. Frozen.
* **Statistics**: what followed the last 2 tokens in a corpus, then the last 1: the 64 most frequent
  prefixes of up to 10 tokens, their leaves longest first, truncated to 4 tokens. Frozen.

Differences from the published code:

* Every 5-gram of accepted text joins the context database; the code's slice omits the newest.
* The newest of a context bucket and the most frequent of a model bucket come first. The code takes
  the oldest and the rarest first where seven places do not suffice.
* Statistics rows shorter than 4 tokens stay short; the code pads them with random tokens. Equally
  long rows come most frequent first; in the code, in hash-table order.
* The drafts are verified as one tree: the code verifies seven separate chains, including
  duplicates. The longest chain that agrees with the target is the same.
* Statistics is read from a pre-counted index: see
  :func:`hsd_viz.drafting.context_database.continuation_trie`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from hsd_viz.drafting.context_database import Database, continuation_trie
from hsd_viz.drafting.make import Baseline, drafter
from hsd_viz.drafting.semantic_database import DEPTH, SEMANTIC, SemanticDatabase
from hsd_viz.drafting.shared import FIVEGRAMS
from hsd_viz.drafting.tree import DraftTree, spell
from hsd_viz.stack import DATABASES

#: Tokens of a draft, drafts of a step, entries of a bucket.
LENGTH = 4
DRAFTS = 7
BUCKET = 7
#: Of the statistics database: key lengths in access order, most prefixes, their most tokens.
STATISTICS_KEYS = (2, 1)
STATISTICS_NODES = 64
STATISTICS_DEPTH = 10


@dataclass(frozen=True, slots=True)
class DatabaseDraft:
    """A draft of one database.

    Attributes:
        key_length: the tokens that were matched; ``None`` for a state.
        count: how often it was seen; ``None`` if that is not counted.
        tokens: the tokens (spelled).
        position: the place in the text of its first token; ``None`` if it is not of the text.
        cosine: the similarity of states, of a semantic draft.
    """

    key_length: int | None
    count: int | None
    tokens: str
    position: int | None = None
    cosine: float | None = None


class StoredDrafts:
    """The drafts of the ``fivegrams`` and ``statistics`` databases by key, computed once for all
    runs over them.
    """

    def __init__(self, shared: Mapping[str, Database]) -> None:
        self.shared = dict(shared)
        self.model = cache(self._model)
        self.statistics = cache(self._statistics)

    def _model(self, last: str) -> list[DatabaseDraft]:
        """Return the up to 7 most frequent 5-grams that begin with the token ``last``, most
        frequent first.
        """
        rows: list[DatabaseDraft] = []
        for rank in range(BUCKET):
            match = self.shared["fivegrams"].lookup(last + chr(rank))
            if match is None or match[0] != 2:
                break
            rows.append(DatabaseDraft(1, match[1], "".join(chr(token) for token, _, _ in match[2])))
        return rows

    def _statistics(self, key: str) -> list[DatabaseDraft]:
        """Return what followed ``key`` in the corpus: up to 4 tokens each, longest first, no
        prefixes of others.
        """
        lookup = self.shared["statistics"].lookup
        nodes = continuation_trie(lookup, key, nodes=STATISTICS_NODES, depth=STATISTICS_DEPTH)
        spelled: list[str] = []
        for token, parent, _ in nodes:
            spelled.append((spelled[parent] if parent >= 0 else "") + chr(token))
        inner = {parent for _, parent, _ in nodes}
        leaves = [node for node in range(len(nodes)) if node not in inner]
        rows: list[DatabaseDraft] = []
        for node in sorted(leaves, key=lambda node: -len(spelled[node])):
            row = spelled[node][:LENGTH]
            if not any(other.tokens.startswith(row) for other in rows):
                rows.append(DatabaseDraft(len(key), round(nodes[node][2]), row))
        return rows[:DRAFTS]


@drafter("hd", items=(*DATABASES, SEMANTIC))
class HierarchyDrafting(Baseline):
    """Hierarchy Drafting for one run, from the databases named in the stack, in that order
    (``model`` is the database ``fivegrams``). A small budget truncates the last drafts. The paper
    has no semantic database: named in the stack, it adds what followed the places with the most
    similar states (:mod:`.semantic_database`).
    """

    nodes = DRAFTS * LENGTH

    def start(self, prompt: Sequence[int]) -> None:
        shared = self.run.databases
        self.sources = self.run.sources(model=FIVEGRAMS)
        self._text = ""
        self.stored = shared.derived.setdefault("hd", StoredDrafts(shared.present))
        self._buckets: dict[str, dict[str, int]] = {}
        self._semantic = SemanticDatabase()
        self.state_depth = DEPTH if SEMANTIC in self.sources else None
        self.extend(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        first = max(0, len(self._text) - LENGTH)
        self._text += spell(tokens)
        if self.state_depth is not None:
            self._semantic.extend(tokens)
        for place in range(first, len(self._text) - LENGTH):
            gram = self._text[place + 1 : place + 1 + LENGTH]
            bucket = self._buckets.setdefault(self._text[place], {})
            # The newest comes last; a full bucket drops its oldest.
            if bucket.pop(gram, None) is None and len(bucket) == BUCKET:
                del bucket[next(iter(bucket))]
            bucket[gram] = place + 1

    def observe_states(self, states: np.ndarray) -> None:
        self._semantic.observe(states)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        tree = DraftTree()
        if len(text) and budget > 0:
            tail = spell(text[-max(STATISTICS_KEYS) :])
            self.add_in_access_order(tree, tail, len(text), budget)
        return tree.or_reason(budget)

    def add_in_access_order(self, tree: DraftTree, tail: str, length: int, budget: int) -> None:
        """Add drafts after a text of ``length`` tokens that ends in ``tail``, one database after
        the other, until there are seven or the budget is used.
        """
        children: dict[tuple[int, int], int] = {}
        drafts = 0
        for source in self.sources:
            for row in self._rows(source, tail, length):
                node = -1
                new = False
                for depth, token in enumerate(map(ord, row.tokens)):
                    if (node, token) not in children:
                        if len(tree) == budget:
                            return
                        children[node, token] = tree.add(
                            token,
                            node,
                            source,
                            row.key_length,
                            row.count,
                            position=None if row.position is None else row.position + depth,
                            cosine=row.cosine,
                        )
                        new = True
                    node = children[node, token]
                    if token in self.eos:
                        break
                drafts += new
                if drafts == DRAFTS:
                    return

    def _rows(self, source: str, tail: str, length: int) -> list[DatabaseDraft]:
        """Return the drafts of one database, in its order."""
        last = tail[-1:]
        rows: list[DatabaseDraft]
        if source == "context":
            rows = []
            for gram, position in reversed(self._buckets.get(last, {}).items()):
                rows.append(DatabaseDraft(1, None, gram, position))
            return rows
        if source == SEMANTIC:
            rows = []
            for at, cosine in self._semantic.find(length):
                rows.append(DatabaseDraft(None, None, self._text[at : at + LENGTH], at, cosine))
            return rows
        if source == "model":
            return self.stored.model(last)
        # A text of one token has no key of two.
        rows = []
        for key_length in STATISTICS_KEYS:
            if key_length <= len(tail):
                rows += self.stored.statistics(tail[-key_length:])
        return rows
