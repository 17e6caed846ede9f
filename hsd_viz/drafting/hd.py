"""Hierarchy Drafting (HD) as published: three databases with keys of one token, asked in order until seven drafts are found.

Source: Cho et al., "Lossless Acceleration of Large Language Models with Hierarchical Drafting based on Temporal Locality in
Speculative Decoding", Findings of NAACL 2025, arXiv 2502.05609 (repository zomss/Hierarchy_Drafting), re-implemented from its
description. The rule, with the paper's settings:

* A draft is 4 tokens, at most 7 drafts a step, at most 5 tokens emitted. The databases are asked in order (context, model,
  statistics); as soon as 7 drafts are found, the less local ones are left alone. No scores, no least confidence.
* **Context**: every 5-gram of the text under its first token; a bucket of 7, least recently used out first.
* **Model**: the 100 000 most frequent 5-grams of the target's own outputs (each counted once per output), 7 per first token at
  most. Frozen.
* **Statistics**: what followed the last 2 tokens in a corpus, then the last 1: the 64 most frequent prefixes of up to 10
  tokens, their leaves longest first, cut to 4 tokens. Frozen.
* **Window** (an option): the 5-grams that Lookahead's window yields join the context database; see :mod:`.window`.

Where it differs from the published code:

* Every 5-gram of accepted text joins the context database. The code's slice drops the newest, and steps with fewer than two
  accepted tokens insert nothing.
* The newest of a context bucket and the most frequent of a model bucket come first. The code takes the oldest and the rarest
  first where the seven places do not suffice.
* Statistics rows shorter than 4 tokens stay short; the code pads them with random tokens. Equally long rows come most
  frequent first; there, in the order of a hash table.
* The drafts are verified as one tree: beginnings they share are verified once, and a draft that another one already holds
  takes no place. The code verifies seven separate chains, equal ones too. The longest chain that agrees with the target is
  the same.
* Statistics is read from a pre-counted index (see :mod:`.expand`) instead of a suffix array: of a key it knows the likeliest
  followers, and paths longer than its keys are counted approximately.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hsd_viz.drafting.baselines.window import JacobiWindow

from .context import spell
from .expand import trie
from .hierarchy import Database
from .tree import DraftTree, as_eos_set

#: Tokens of a draft, drafts of a step, places in a bucket.
LENGTH = 4
DRAFTS = 7
BUCKET = 7
#: Keys of the statistics database, in the order in which they are asked.
STATISTICS_KEYS = (2, 1)
STATISTICS_NODES = 64
STATISTICS_DEPTH = 10

#: A proposal: key length, times seen, the draft's tokens (spelled), the place in the text of its first token.
Row = tuple[int, int | None, str, int | None]


class StoredDrafts:
    """The drafts of the ``fivegrams`` and ``statistics`` databases by key, worked out when first asked for and kept.

    One object may serve any number of runs over the same databases: it only ever says what they say.
    """

    def __init__(self, shared: Mapping[str, Database]) -> None:
        self.shared = dict(shared)
        self._model: dict[str, list[Row]] = {}
        self._statistics: dict[str, list[Row]] = {}

    def model(self, last: str) -> list[Row]:
        """The up to 7 most frequent 5-grams that begin with the token ``last``, most frequent first."""
        if last not in self._model:
            rows: list[Row] = []
            for rank in range(BUCKET):
                match = self.shared["fivegrams"].lookup(last + chr(rank))
                if match is None or match[0] != 2:
                    break
                rows.append((1, match[1], "".join(chr(token) for token, _, _ in match[2]), None))
            self._model[last] = rows
        return self._model[last]

    def statistics(self, key: str) -> list[Row]:
        """What followed ``key`` in the corpus: rows of at most 4 tokens, those of the longest paths first, none within another."""
        if key not in self._statistics:
            nodes = trie(self.shared["statistics"].lookup, key, nodes=STATISTICS_NODES, depth=STATISTICS_DEPTH)
            spelled: list[str] = []
            for token, parent, _ in nodes:
                spelled.append((spelled[parent] if parent >= 0 else "") + chr(token))
            inner = {parent for _, parent, _ in nodes}
            leaves = [node for node in range(len(nodes)) if node not in inner]
            leaves.sort(key=lambda node: -len(spelled[node]))
            rows: dict[str, Row] = {}
            for node in leaves:
                row = spelled[node][:LENGTH]
                if not any(kept.startswith(row) for kept in rows):
                    rows[row] = (len(key), round(nodes[node][2]), row, None)
                if len(rows) == DRAFTS:
                    break
            self._statistics[key] = list(rows.values())
        return self._statistics[key]


class HierarchyDrafting:
    """Hierarchy Drafting for one run, from the databases named in ``sources``, in that order.

    ``shared`` holds the databases ``fivegrams`` (asked as ``model``) and ``statistics``; ``stored`` what was worked out from them
    before (default: nothing). An end-of-text token (``eos``: one id or several) may be drafted, nothing after it.
    """

    name = "hd"
    #: Nodes of its largest draft: with a smaller budget the last drafts are cut.
    nodes = DRAFTS * LENGTH

    def __init__(
        self,
        sources: Sequence[str],
        shared: Mapping[str, Database],
        *,
        eos: int | Collection[int] | None = None,
        stored: StoredDrafts | None = None,
    ) -> None:
        self.sources = tuple(sources)
        self.ends = as_eos_set(eos)
        self.stored = stored if stored is not None else StoredDrafts(shared)
        self.start(())

    def start(self, prompt: Sequence[int]) -> None:
        """A run begins with this prompt: its 5-grams fill the context database, from left to right."""
        self._text = ""
        self._buckets: dict[str, dict[str, int | None]] = {}
        self.extend(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        """These tokens were emitted: every 5-gram they complete joins the context database."""
        first = max(0, len(self._text) - LENGTH)
        self._text += spell(tokens)
        for place in range(first, len(self._text) - LENGTH):
            self._remember(self._text[place], self._text[place + 1 : place + 1 + LENGTH], place + 1)

    def _remember(self, key: str, gram: str, position: int | None) -> None:
        """Put ``gram`` last in the bucket of ``key``; a full bucket drops its first."""
        bucket = self._buckets.setdefault(key, {})
        if gram in bucket:
            del bucket[gram]
        elif len(bucket) == BUCKET:
            del bucket[next(iter(bucket))]
        bucket[gram] = position

    def _rows(self, source: str, tail: str) -> list[Row]:
        """What one database has for a text that ends in ``tail``."""
        if source == "context":
            return [(1, None, gram, position) for gram, position in reversed(self._buckets.get(tail[-1:], {}).items())]
        if source == "model":
            return self.stored.model(tail[-1:])
        # A text of one token has no key of two.
        return [row for n in STATISTICS_KEYS if n <= len(tail) for row in self.stored.statistics(tail[-n:])]

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """Up to seven drafts after ``text`` as one tree of at most ``budget`` nodes."""
        tree = DraftTree()
        if len(text) and budget > 0:
            self._fill(tree, spell(text[-max(STATISTICS_KEYS) :]), budget)
        if not tree.tokens:
            tree.why_empty = "no room" if budget < 1 else "no match"
        return tree

    def _fill(self, tree: DraftTree, tail: str, budget: int) -> None:
        """The access order: each database in turn, until there are seven drafts or no room."""
        children: dict[tuple[int, int], int] = {}
        drafts = 0
        for source in self.sources:
            for length, count, tokens, position in self._rows(source, tail):
                node, new = -1, False
                for depth, token in enumerate(map(ord, tokens)):
                    if (node, token) not in children:
                        if len(tree) == budget:
                            return
                        place = None if position is None else position + depth
                        children[node, token] = tree.add(token, node, source, length, count, None, place)
                        new = True
                    node = children[node, token]
                    if token in self.ends:
                        break
                drafts += new
                if drafts == DRAFTS:
                    return


class WindowedHierarchyDrafting(HierarchyDrafting):
    """The same with Lookahead's window, whose tokens ride along in the draft tree (at most 27 more) and whose n-grams join the context.

    The window moves on when :meth:`observe` is called; a window that was not observed is not sent again.
    """

    nodes = HierarchyDrafting.nodes + JacobiWindow(BUCKET, LENGTH + 1).nodes

    def start(self, prompt: Sequence[int]) -> None:
        """A run begins with this prompt."""
        self.window = JacobiWindow(BUCKET, LENGTH + 1)
        self.window.start(prompt)
        self._sent = False
        super().start(prompt)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """Up to seven drafts after ``text``, then the window if all of it fits into the ``budget``."""
        tree = super().draft(text, budget)
        if len(text) and not self._sent and self.window.plant(tree, budget):
            tree.why_empty = None
            self._sent = True
        return tree

    def observe(self, text: Sequence[int], tree: DraftTree, top: Sequence[Sequence[int]]) -> None:
        """The target's likeliest tokens after ``text`` and each node: see :class:`hsd_viz.drafting.observe.Observer`."""
        self._sent = False
        for key, *gram in self.window.advance(text[-1], tree, top):
            self._remember(chr(key), spell(gram), None)
