"""Let SmolLM2 write: ``python -m training.smollm2 write [--worker K --workers N]``.

Answers the requests of :mod:`training.smollm2.prompts`, several conversations at a time in the
native runtime. They are kept in shards of :data:`SHARD`; half of the shards have temperature 1,
half 0.7. A conversation depends on its number alone, so the same command resumes a stopped run,
which loses only the shards in progress. ``--rows DIR`` keeps the target's probabilities beside
them, from which draft models learn; a text without its rows can be fed again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path

import numpy as np

from hsd_viz import disk, machine
from hsd_viz.models.files import open_model
from hsd_viz.models.tokenizer import FileTokenizer
from hsd_viz.native.model import NativeBatch, NativeModel, NativeSession
from hsd_viz.native.weights import Weights
from training.smollm2.prompts import ConversationRequest, collect_prose, request
from training.smollm2.rows import LikeliestRow, likeliest, rows_path, save_rows
from training.smollm2.text import SHARD, Conversation, save, shard_path, shards

#: The longest reply, and the longest conversation, in tokens.
MAX_REPLY = 256
MAX_TOKENS = 1024
TEMPERATURES = (1.0, 0.7)
SOURCES = Path(__file__).parent / "sources.json"
#: Probabilities are added up in blocks of so many tokens.
BLOCK = 256


def draw(logits: np.ndarray, temperature: float, chance: float) -> int:
    """Return the token of logits ``[vocabulary]`` at ``chance``, uniform in [0, 1)."""
    weights = np.exp((logits - logits.max()) / np.float32(temperature))
    sums = np.add.reduceat(weights, np.arange(0, len(weights), BLOCK), dtype=np.float64).cumsum()
    mass = chance * sums[-1]
    block = min(int(np.searchsorted(sums, mass, side="right")), len(sums) - 1)
    mass_before = sums[block - 1] if block else 0.0
    inside = weights[block * BLOCK : (block + 1) * BLOCK].cumsum(dtype=np.float64)
    place = int(np.searchsorted(inside, mass - mass_before, side="right"))
    return block * BLOCK + min(place, len(inside) - 1)


class Dialogue:
    """A conversation in progress: what is fed next, and what the model has written.

    Attributes:
        request: What the user says.
        tokens: All tokens so far.
        written: Whether the model wrote each of them.
    """

    def __init__(
        self, request: ConversationRequest, tokenizer: FileTokenizer, ends: frozenset[int]
    ) -> None:
        self.request = request
        self._tokenizer = tokenizer
        self._ends = ends
        self._messages = [{"role": "user", "content": request.turns[0]}]
        self.tokens = self._rendered()
        self.written = [False] * len(self.tokens)
        self._reply: list[int] = []
        #: Tokens of the next turn that are still to be fed.
        self._waiting: list[int] = []
        self.done = False

    def _rendered(self) -> list[int]:
        text = self._tokenizer.apply_chat_template(self._messages)
        return self._tokenizer.encode(text, add_special_tokens=False)

    @property
    def waits(self) -> bool:
        """Whether the next token is the template's or the user's."""
        return bool(self._waiting)

    def next(self, sampled: int) -> int:
        """Return the token to feed, and remember it; ``sampled`` is what the model would write."""
        if self._waiting:
            token = self._waiting.pop(0)
            self._append(token, written=False)
            return token
        self._append(sampled, written=True)
        self._reply.append(sampled)
        if sampled in self._ends or len(self._reply) >= MAX_REPLY:
            self._end_of_reply()
        if len(self.tokens) >= MAX_TOKENS:
            self.done = True
        return sampled

    def _append(self, token: int, written: bool) -> None:
        self.tokens.append(token)
        self.written.append(written)

    def _end_of_reply(self) -> None:
        """Begin the next turn, if there is one."""
        answered = len(self._messages) // 2 + 1
        cut = self._reply[-1] not in self._ends
        if cut or answered == len(self.request.turns):
            self.done = True
            return
        text = self._tokenizer.decode(self._reply, skip_special_tokens=True)
        self._messages.append({"role": "assistant", "content": text})
        self._messages.append({"role": "user", "content": self.request.turns[answered]})
        rendered = self._rendered()
        # The reply is encoded as the model wrote it; what follows its end is the template's.
        ends = [place for place, token in enumerate(rendered) if token in self._ends]
        self._waiting = rendered[ends[-2] + 1 :]
        self._reply = []

    def conversation(self, temperature: float) -> Conversation:
        """Return the conversation as it is stored."""
        return Conversation(
            number=self.request.number,
            temperature=temperature,
            tokens=np.array(self.tokens, np.uint16),
            written=np.array(self.written, bool),
        )


def temperature_of(shard: int) -> float:
    """Return the temperature of all replies of a shard."""
    return TEMPERATURES[shard % len(TEMPERATURES)]


class DialogueWriter:
    """A dialogue with its sequence in the native runtime.

    Attributes:
        dialogue: What has been said.
        shard: The shard that it is kept in.
        rows: The likeliest tokens before each written token, where they are kept.
    """

    def __init__(
        self, dialogue: Dialogue, shard: int, model: NativeModel, keeps_rows: bool
    ) -> None:
        self.dialogue = dialogue
        self.shard = shard
        self.rows: list[LikeliestRow] = []
        self._keeps_rows = keeps_rows
        self.session: NativeSession = model.session()
        self._temperature = temperature_of(shard)
        self._chances = np.random.default_rng(dialogue.request.number)

    def prefill(self) -> np.ndarray:
        """Feed the first turn; return the logits ``[vocabulary]`` after it."""
        return self.session.forward(self.dialogue.tokens, 1)[0]

    def next(self, logits: np.ndarray) -> int:
        """Return the token to feed next, where the model would go on with these logits."""
        if self._keeps_rows and not self.dialogue.waits:
            self.rows.append(likeliest(logits))
        sampled = draw(logits, self._temperature, self._chances.random())
        return self.dialogue.next(sampled)


def _numbers(missing: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the conversations of shards, each as its shard and its number."""
    for shard in missing:
        for number in range(shard * SHARD, (shard + 1) * SHARD):
            yield shard, number


def write(
    missing: Sequence[int],
    model: NativeModel,
    tokenizer: FileTokenizer,
    ends: frozenset[int],
    prose: Sequence[str],
    texts: int,
    keeps_rows: bool = False,
) -> Iterator[tuple[int, list[DialogueWriter]]]:
    """Yield the missing shards, each with its number, as all their dialogues are done.

    ``texts`` conversations are written at a time; ``ends`` are the tokens that end a reply.
    """
    numbers = _numbers(missing)
    batch = NativeBatch(model)
    #: Those that are written now, with the logits after what they have been fed.
    active: list[tuple[DialogueWriter, np.ndarray]] = []
    #: The dialogues of each shard in progress, and how many are not done.
    finished: dict[int, list[DialogueWriter]] = {shard: [] for shard in missing}
    remaining: dict[int, int] = dict.fromkeys(missing, SHARD)
    while finished:
        while len(active) < texts:
            following = next(numbers, None)
            if following is None:
                break
            shard, number = following
            dialogue = Dialogue(request(number, prose), tokenizer, ends)
            if len(dialogue.tokens) >= MAX_TOKENS - MAX_REPLY:
                remaining[shard] -= 1
                continue
            writer = DialogueWriter(dialogue, shard, model, keeps_rows)
            active.append((writer, writer.prefill()))
        going: list[tuple[DialogueWriter, int]] = []
        for writer, logits in active:
            token = writer.next(logits)
            if not writer.dialogue.done:
                going.append((writer, token))
                continue
            finished[writer.shard].append(writer)
            remaining[writer.shard] -= 1
        for shard in [shard for shard in finished if not remaining[shard]]:
            writers = finished.pop(shard)
            yield shard, sorted(writers, key=lambda writer: writer.dialogue.request.number)
        active = []
        if going:
            sessions = [writer.session for writer, _ in going]
            rows = batch.forward(sessions, [token for _, token in going])
            active = [(writer, row) for (writer, _), row in zip(going, rows, strict=True)]


def write_shards(
    model: Path,
    out: Path,
    numbers: Sequence[int],
    *,
    threads: int = 1,
    rows_folder: Path | None = None,
    texts: int = 24,
) -> list[str]:
    """Write the shards of these numbers that are missing, and report each.

    Args:
        model: the file of the model.
        out: the folder of the text.
        numbers: the numbers of the shards.
        threads: the number of CPU threads.
        rows_folder: the folder for the probabilities; ``None``: they are not kept.
        texts: the number of texts that are written at a time.

    Returns:
        A line with the number of shards in the folder.
    """
    machine.set_threads(threads)
    prose, sources = collect_prose()
    if not SOURCES.exists():
        listed = [asdict(source) for source in sources]
        disk.write_whole(SOURCES, json.dumps(listed, indent=1) + "\n")
    files = open_model(model)
    tokenizer = files.tokenizer()
    ends = files.ends(tokenizer)
    writer_model = NativeModel(Weights(files.name, files.form, files.tensors))
    missing = [shard for shard in numbers if not shard_path(out, shard).exists()]
    began = time.monotonic()
    written = 0
    keeps_rows = rows_folder is not None
    finished = write(missing, writer_model, tokenizer, ends, prose, texts, keeps_rows=keeps_rows)
    for shard, writers in finished:
        temperature = temperature_of(shard)
        if rows_folder is not None:
            rows = chain.from_iterable(writer.rows for writer in writers)
            save_rows(rows_path(rows_folder, shard), list(rows))
        conversations = [writer.dialogue.conversation(temperature) for writer in writers]
        save(shard_path(out, shard), conversations)
        written += sum(int(conversation.written.sum()) for conversation in conversations)
        rate = written / (time.monotonic() - began)
        print(f"shard {shard}: {written} tokens so far, {rate:.0f} per second", flush=True)
    return [f"{len(shards(out))} shards in {out}"]
