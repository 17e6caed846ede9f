"""``hd``: Hierarchy Drafting as published, which accesses databases in order until it has 7 drafts.

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
* **Statistics**: continuations of the last 2 tokens in a corpus, then of the last token. The 64
  most frequent prefixes of up to 10 tokens form a trie; its leaves, longest first, are truncated
  to 4 tokens. Frozen.

Differences from the published code:

* Every 5-gram of accepted text is added to the context database; the code's slice omits the newest.
* The newest entries of a context bucket and the most frequent entries of a model bucket come first.
  If there are more than 7 drafts, the code takes the oldest and the least frequent.
* Statistics rows shorter than 4 tokens stay short; the code pads them with random tokens. The
  most frequent of equally long rows come first; in the code they are in hash-table order.
* The drafts are verified as a tree; the code verifies seven separate chains, including duplicates.
  The longest chain that agrees with the target is the same.
* The statistics database is a pre-counted index: see
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

#: The number of tokens in a draft.
LENGTH = 4
#: The largest number of drafts in a step.
DRAFTS = 7
#: The number of entries in a bucket of the context and model databases.
BUCKET = 7
#: The key lengths of the statistics database, in access order.
STATISTICS_KEYS = (2, 1)
#: The largest number of prefixes that are read from the statistics database.
STATISTICS_NODES = 64
#: The largest number of tokens in these prefixes.
STATISTICS_DEPTH = 10


@dataclass(frozen=True, slots=True)
class DatabaseDraft:
    """A draft by a database.

    Attributes:
        key_length: the number of matched tokens; ``None`` if the key is a state.
        count: the number of occurrences; ``None`` if they are not counted.
        tokens: the draft tokens (spelled).
        position: the position of the first token in the text; ``None`` for a draft that was not
            copied from the text.
        cosine: the similarity of the states, for a draft of the semantic database.
    """

    key_length: int | None
    count: int | None
    tokens: str
    position: int | None = None
    cosine: float | None = None


class StoredDrafts:
    """The drafts of the ``fivegrams`` and ``statistics`` databases by key, cached for all runs."""

    def __init__(self, shared: Mapping[str, Database]) -> None:
        self.shared = dict(shared)
        self.model = cache(self._model)
        self.statistics = cache(self._statistics)

    def _model(self, last: str) -> list[DatabaseDraft]:
        """Return up to 7 drafts from the most frequent 5-grams that begin with the token ``last``,
        most frequent first.
        """
        rows: list[DatabaseDraft] = []
        for rank in range(BUCKET):
            match = self.shared["fivegrams"].lookup(last + chr(rank))
            if match is None or match[0] != 2:
                break
            rows.append(DatabaseDraft(1, match[1], "".join(chr(token) for token, _, _ in match[2])))
        return rows

    def _statistics(self, key: str) -> list[DatabaseDraft]:
        """Return continuations of ``key`` in the corpus as drafts of up to 4 tokens.

        The longest continuation comes first. Drafts that are prefixes of earlier ones are left out.
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
    """Hierarchy Drafting for one run, from the databases that the stack names, in their order.

    The database ``model`` is read from the file ``fivegrams``. A small budget truncates the last
    drafts. The semantic database is an addition to the paper: if the stack names it, the passages
    after the positions with the most similar states are drafted (:mod:`.semantic_database`).
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
            # The newest entry comes last; a full bucket drops its oldest entry.
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
        """Add drafts of each database in turn, until there are 7 or the budget is used up.

        Args:
            tree: the draft tree to extend.
            tail: the last tokens of the text (spelled).
            length: the number of tokens in the text.
            budget: the largest number of nodes.
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
        """Return the drafts of a database, in order of priority."""
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
        # A text of one token is shorter than the longest key.
        rows = []
        for key_length in STATISTICS_KEYS:
            if key_length <= len(tail):
                rows += self.stored.statistics(tail[-key_length:])
        return rows
