"""Drafts by a model with another tokenizer than the target's: two lossless bridges (Timor et al.
2025, arXiv 2502.05202).

* **SLEM**, string-level exact match: the draft model continues the text with its own likeliest
  tokens; its text is cut again into the target's tokens and proposed as a chain of point masses.
  Any such chain is lossless.
* **TLI**, token-level intersection: the draft model's row is restricted to the tokens that both
  vocabularies have and renormalised. This row is sampled and is the draft's q, so that verification
  is exact.

Either way the text is encoded again in the draft's tokens, and the cache is kept as far as they are
the same. Only the lowest level can have a bridge: above it, levels need a row for each of the
target's tokens.

A vocabulary that differs in few tokens needs no bridge (:class:`AgreeingModel`): the ids mean the
same but for these.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Sequence
from itertools import accumulate, takewhile

import numpy as np

from hsd_viz.decoding.rejection_sampling import SampledChain, UniformNumbers
from hsd_viz.decoding.sampling import Sampling, chance_of
from hsd_viz.decoding.session import Model, Session
from hsd_viz.decoding.text import TokenText
from hsd_viz.errors import UserError

#: Share of the draft model's tokens that the target must have, too, for TLI to be chosen.
MIN_SHARED = 0.5
#: Share of the draft model's tokens that must have the same id in the target for the ids to be read
#: as they are.
MIN_AGREEING = 0.9
#: Tokens of the text before a draft that its cut takes into account.
_CONTEXT = 16
#: Forward passes of a SLEM draft for each token it may propose, at most.
_STEPS = 2


class Lexicon:
    """The tokens of one tokenizer as bytes. ``pieces[t]`` is ``None`` for special tokens and unused
    ids.
    """

    def __init__(self, text: TokenText, size: int) -> None:
        self.size = size
        self.tokenizer = text.tokenizer
        self.pieces: list[bytes | None] = [text.content(token) for token in range(size)]
        #: Special tokens by name, and by role.
        self.special: dict[str, int] = {}
        for token in self.tokenizer.all_special_ids:
            if token < size:
                self.special[self.tokenizer.convert_ids_to_tokens(token)] = token
        roles = {"bos": self.tokenizer.bos_token_id, "eos": self.tokenizer.eos_token_id}
        self.roles: dict[str, int] = {}
        for role, own in roles.items():
            if own is not None and own < size:
                self.roles[role] = own
        #: The tokens that the tokenizer itself puts before a text.
        self.start: list[int] = []
        for token in text.encode(""):
            if token < size and token != self.roles.get("eos"):
                self.start.append(token)
        #: The token of each sequence of bytes; of several, the first.
        self.by_bytes = {piece: t for t, piece in reversed([*enumerate(self.pieces)]) if piece}
        self._longest = max(map(len, self.by_bytes), default=0)

    def encode(self, data: bytes) -> list[int]:
        """Return tokens that spell ``data``: as the tokenizer cuts it, and by longest match where
        its tokens do not spell it and after a broken character. Bytes that no token spells are left
        out.
        """
        try:
            ids = self.tokenizer.encode(data.decode(), add_special_tokens=False, verbose=False)
        except UnicodeDecodeError as error:
            return [*self.encode(data[: error.start]), *self._match(data[error.start :])]
        pieces = [self.pieces[t] if t < self.size else None for t in ids]
        spelled = b"" if None in pieces else b"".join(pieces)  # type: ignore[arg-type]
        if spelled == b" " + data:  # tokenizers that put a space before a text
            return [*self._match(pieces[0][1:]), *ids[1:]]  # type: ignore[index]
        return ids if spelled == data else self._match(data)

    def _match(self, data: bytes) -> list[int]:
        """Cut into the longest tokens there are, from the left."""
        tokens = []
        at = 0
        while at < len(data):
            ends = range(min(len(data), at + self._longest), at, -1)
            end = next((e for e in ends if data[at:e] in self.by_bytes), at)
            tokens += [self.by_bytes[data[at:end]]] if end > at else []
            at = max(end, at + 1)
        return tokens


class Bridge:
    """What a draft model's tokenizer and the target's have in common."""

    def __init__(self, draft: Lexicon, target: Lexicon) -> None:
        self.draft = draft
        self.target = target
        #: Special tokens of the target that the draft model has, too: of the same name, else of the
        #: same role.
        self.special: dict[int, int] = {}
        for name, token in target.special.items():
            if name in draft.special:
                self.special[token] = draft.special[name]
        for role, mine in draft.roles.items():
            if role in target.roles and mine not in self.special.values():
                self.special.setdefault(target.roles[role], mine)
        #: Shared tokens, the target's id to the draft's.
        self.shared: dict[int, int] = {}
        for piece, token in target.by_bytes.items():
            if piece in draft.by_bytes:
                self.shared[token] = draft.by_bytes[piece]
        self.shared |= self.special

    def choose(self, sampling: Sampling) -> str:
        """Return the bridge for this sampling: SLEM proposes the draft's likeliest text, TLI
        samples.
        """
        enough = len(self.shared) >= MIN_SHARED * self.draft.size
        return "tli" if enough and not sampling.greedy else "slem"

    def read(self, tokens: Sequence[int]) -> list[int]:
        """Return the draft's tokens for these tokens of the target; special tokens it does not have
        are left out.
        """
        ids = []
        data = b""
        for token in tokens:
            piece = self.target.pieces[token]
            if piece is not None:
                data += piece
            elif token in self.special:
                ids += [*self.draft.encode(data), self.special[token]]
                data = b""
        return ids + self.draft.encode(data)

    def cut(self, text: Sequence[int], data: bytes) -> list[int]:
        """Return the target's tokens that spell ``data``, whole characters of it, after
        ``text``.
        """
        pieces = [self.target.pieces[token] for token in text[-_CONTEXT:]]
        tail = b"".join(
            [p for p in takewhile(lambda p: p is not None, reversed(pieces)) if p is not None][::-1]
        )
        decoder = getincrementaldecoder("utf-8")("replace")
        decoder.decode(tail + data)
        data = data[: len(data) - len(decoder.getstate()[0])]
        ids = self.target.encode(tail + data)
        ends = [0, *accumulate(len(self.target.pieces[token] or b"") for token in ids[:-1])]
        if len(tail) in ends:
            return ids[ends.index(len(tail)) :]
        # A token covers the end of the text and the start of the draft: the text is fixed, so it
        # cannot be proposed.
        return self.target.encode(data)


class BridgedModel:
    """A draft model with another tokenizer behind the interface of a model with the target's
    (``vocab_size`` tokens), by a bridge of a ``kind`` of
    :data:`~hsd_viz.engine_choices.BRIDGES`.

    Raises:
        UserError: for TLI without a shared token.
    """

    positions = None

    def __init__(self, model: Model, bridge: Bridge, kind: str, vocab_size: int) -> None:
        if kind == "tli" and not bridge.shared:
            raise UserError(f"{model.name} and the target share no token: use the bridge slem")
        self.model = model
        self.bridge = bridge
        self.kind = kind
        self.vocab_size = vocab_size
        self.name = model.name
        self.dtype = model.dtype
        self.runtime = model.runtime
        self.parameters = model.parameters
        #: The shared tokens, the target's ids and the draft's ``[2, n]``.
        self.shared = np.array([*bridge.shared.items()], dtype=np.intp).reshape(-1, 2).T

    def session(self, room: int | None = None) -> TranslatingSession:
        """Open an empty sequence."""
        return TranslatingSession(self, room)

    def describe(self) -> dict[str, int | str]:
        """Return what a trace says of the bridge."""
        sizes = {"draft_tokens": self.model.vocab_size, "target_tokens": self.vocab_size}
        return {"bridge": self.kind, "shared_tokens": self.shared.shape[1], **sizes}


class TranslatingSession(Session):
    """One sequence of the target's tokens, read by the draft model in its own. It drafts and
    verifies nothing.
    """

    def __init__(self, model: BridgedModel, room: int | None = None) -> None:
        self._model = model
        self._bridge = model.bridge
        self._inner = model.model.session(room)
        self._text: list[int] = []
        #: The draft's tokens in its cache.
        self._ids: list[int] = []

    @property
    def length(self) -> int:  # type: ignore[override]
        return len(self._text)

    def feed(self, tokens: Sequence[int]) -> None:
        self._text += tokens
        self._read()

    def truncate(self, length: int) -> None:
        del self._text[length:]

    def keep(self, base: int, nodes: Sequence[int]) -> None:
        raise AssertionError("a bridged model verifies no drafts")

    def _read(self, room: int = 1) -> np.ndarray:
        """Return the draft's logits ``[V']`` after the text; there is ``room`` for so many tokens
        after it.
        """
        lexicon = self._bridge.draft
        ids = self._bridge.read(self._text)
        if ids[: len(lexicon.start)] != lexicon.start:
            ids = lexicon.start + ids
        ids = ids or [*lexicon.roles.values(), 0][:1]
        if (most := self._model.model.positions) is not None and len(ids) + room > most:
            half = max(1, most // 2)
            ids = ids[-(-(len(ids) + room - most) // half) * half :] or ids[-1:]
        same = 0
        for new, known in zip(ids[:-1], self._ids, strict=False):
            if new != known:
                break
            same += 1
        self._inner.truncate(same)
        self._ids = ids
        return self._inner.forward(ids[same:], 1)[0]

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None
    ) -> np.ndarray:
        """Return the draft's row, restricted to the shared tokens."""
        assert rows == 1 and parents is None and self._model.kind == "tli"
        self._text += tokens
        row = self._read()
        (to, of) = self._model.shared
        out = np.full((1, self._model.vocab_size), -np.inf, row.dtype)
        out[0, to] = row[of]
        return out

    def sample(
        self,
        pending: Sequence[int],
        n: int,
        sampling: Sampling,
        numbers: UniformNumbers | None,
        eos: frozenset[int],
        confidence: float = 0.0,
    ) -> SampledChain:
        """Draft as :meth:`Session.sample`. With SLEM the probability is that of the draft model's
        own tokens.
        """
        if self._model.kind == "tli":
            return super().sample(pending, n, sampling, numbers, eos, confidence)
        self._text += pending
        bridge = self._bridge
        most = _STEPS * n
        row = self._read(most)
        own = b""
        tokens: list[int] = []
        reach = 1.0
        for forwards in range(1, most + 1):
            token = int(row.argmax())
            piece = bridge.draft.pieces[token]
            if piece is None:
                tokens += [t for t, d in bridge.special.items() if d == token and t in eos][:1]
                break
            own += piece
            tokens = bridge.cut(self._text, own)
            # One token more than is asked for: the last one could still grow.
            if len(tokens) > n or forwards == most:
                break
            if confidence:
                reach *= chance_of(token, None, row)
                if reach < confidence and tokens:
                    break
            row = self._inner.forward([token], 1)[0]
            self._ids.append(token)
        return SampledChain(tokens[:n], None, forwards)


# --- ids that agree -------------------------------------------------------------------------------


def agreement(draft: TokenText, draft_size: int, target: TokenText, size: int) -> dict[int, int]:
    """Return the tokens that two models have in common, the target's id to the draft's; empty where
    too few of the draft's tokens have the same id in the target.

    Args:
        draft: the draft model's tokenizer.
        draft_size: the tokens that the draft model knows.
        target: the target's tokenizer.
        size: the tokens that the target knows.
    """
    names = draft.tokenizer.get_vocab()
    shared: dict[int, int] = {}
    for name, token in target.tokenizer.get_vocab().items():
        if token < size and names.get(name, draft_size) < draft_size:
            shared[token] = names[name]
    agreeing = sum(1 for token, own in shared.items() if token == own)
    return shared if agreeing >= MIN_AGREEING * draft_size else {}


class AgreeingModel:
    """A draft model whose vocabulary differs from the target's in few tokens, behind the interface
    of a model with the target's.

    It reads the target's tokens by their ids, and each that it does not know as ``substitute``: a
    draft may be worse after it, and is as lossless as any other. Its rows are restricted to the
    tokens of both, so that they can be drafted from and verified against at any level.

    Attributes:
        model: the draft model.
        shared: the tokens of both, the target's ids and the draft's ``[2, n]``.
        ids: by the target's id the draft's.
    """

    def __init__(
        self, model: Model, shared: dict[int, int], vocab_size: int, substitute: int
    ) -> None:
        self.model = model
        self.vocab_size = vocab_size
        self.name = model.name
        self.dtype = model.dtype
        self.runtime = model.runtime
        self.parameters = model.parameters
        self.positions = model.positions
        self.shared = np.array([*shared.items()], dtype=np.intp).T
        self.ids = [shared.get(token, substitute) for token in range(vocab_size)]

    def session(self, room: int | None = None) -> AgreeingSession:
        """Open an empty sequence."""
        return AgreeingSession(self, room)

    def describe(self) -> dict[str, int | str]:
        """Return what a trace says of the vocabularies."""
        sizes = {"draft_tokens": self.model.vocab_size, "target_tokens": self.vocab_size}
        return {"bridge": "ids", "shared_tokens": self.shared.shape[1], **sizes}


class AgreeingSession(Session):
    """One sequence of the target's tokens, read by their ids."""

    def __init__(self, model: AgreeingModel, room: int | None = None) -> None:
        self._model = model
        self._inner = model.model.session(room)

    @property
    def length(self) -> int:  # type: ignore[override]
        return self._inner.length

    def feed(self, tokens: Sequence[int]) -> None:
        self._inner.feed(self._own(tokens))

    def truncate(self, length: int) -> None:
        self._inner.truncate(length)

    def keep(self, base: int, nodes: Sequence[int]) -> None:
        self._inner.keep(base, nodes)

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None
    ) -> np.ndarray:
        scores = self._inner.forward(self._own(tokens), rows, parents)
        target_ids, own_ids = self._model.shared
        out = np.full((rows, self._model.vocab_size), -np.inf, scores.dtype)
        out[:, target_ids] = scores[:, own_ids]
        return out

    def _own(self, tokens: Sequence[int]) -> list[int]:
        return [self._model.ids[token] for token in tokens]
