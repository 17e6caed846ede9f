"""Let SmolLM2 write: ``python -m training.smollm2.write [--worker K --workers N]``.

Answers the requests of :mod:`training.smollm2.prompts` in shards of :data:`SHARD` conversations,
which are decoded together. Half of the shards have temperature 1, half 0.7. The same command
resumes a stopped run; Ctrl-C loses only the shard in progress.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from hsd_viz import disk
from hsd_viz.models.files import open_model
from hsd_viz.models.tokenizer import FileTokenizer
from training.smollm2.batch import BatchDecoder
from training.smollm2.prompts import Request, collect_prose, request
from training.smollm2.text import FOLDER, SHARD, Conversation, save, shard_path, shards

#: The longest reply, and the longest conversation, in tokens.
MOST_REPLY = 256
MOST_TOKENS = 1024
TEMPERATURES = (1.0, 0.7)
SOURCES = Path(__file__).parent / "sources.json"


class Dialogue:
    """A conversation in progress: what is fed next, and what the model has written.

    Attributes:
        request: What the user says.
        tokens: All tokens so far.
        written: Whether the model wrote each of them.
    """

    def __init__(self, request: Request, tokenizer: FileTokenizer, ends: frozenset[int]) -> None:
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

    def next(self, sampled: int) -> int:
        """Return the token to feed, and remember it; ``sampled`` is what the model would write."""
        if self._waiting:
            token = self._waiting.pop(0)
            self._append(token, written=False)
            return token
        self._append(sampled, written=True)
        self._reply.append(sampled)
        if sampled in self._ends or len(self._reply) >= MOST_REPLY:
            self._end_of_reply()
        if len(self.tokens) >= MOST_TOKENS:
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


def write_shard(
    index: int,
    decoder: BatchDecoder,
    tokenizer: FileTokenizer,
    ends: frozenset[int],
    prose: Sequence[str],
) -> list[Conversation]:
    """Return the conversations of shard ``index``; ``ends`` are the tokens that end a reply."""
    temperature = TEMPERATURES[index % len(TEMPERATURES)]
    generator = torch.Generator().manual_seed(index)
    dialogues = []
    for number in range(index * SHARD, (index + 1) * SHARD):
        dialogue = Dialogue(request(number, prose), tokenizer, ends)
        if len(dialogue.tokens) < MOST_TOKENS - MOST_REPLY:
            dialogues.append(dialogue)
    decoder.start(len(dialogues), MOST_TOKENS)
    logits = decoder.prefill([dialogue.tokens for dialogue in dialogues])
    active = list(dialogues)
    while active:
        rows = (logits / temperature).softmax(-1)
        sampled = torch.multinomial(rows, 1, generator=generator)[:, 0].tolist()
        fed = [dialogue.next(token) for dialogue, token in zip(active, sampled, strict=True)]
        left = [place for place, dialogue in enumerate(active) if not dialogue.done]
        if not left:
            break
        if len(left) < len(active):
            decoder.select(left)
            active = [active[place] for place in left]
            fed = [fed[place] for place in left]
        logits = decoder.step(torch.tensor(fed))
    return [dialogue.conversation(temperature) for dialogue in dialogues]


def main() -> None:
    """Write shards until there are enough, and report each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True, metavar="FILE.gguf")
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="DIR")
    parser.add_argument("--shards", type=int, default=400, metavar="N", help="shards in all")
    parser.add_argument("--worker", type=int, default=0, metavar="K", help="number of this worker")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="workers in all")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    prose, sources = collect_prose()
    if not SOURCES.exists():
        listed = [asdict(source) for source in sources]
        disk.write_whole(SOURCES, json.dumps(listed, indent=1) + "\n")
    model = open_model(options.model)
    tokenizer = model.tokenizer()
    ends = model.ends(tokenizer)
    decoder = BatchDecoder(model.form, model.tensors)
    for index in range(options.worker, options.shards, options.workers):
        path = shard_path(options.out, index)
        if path.exists():
            continue
        began = time.monotonic()
        conversations = write_shard(index, decoder, tokenizer, ends, prose)
        save(path, conversations)
        written = sum(int(each.written.sum()) for each in conversations)
        seconds = time.monotonic() - began
        rate = written / seconds
        print(
            f"{path.name}: {written} tokens in {seconds:.0f} s, {rate:.0f} per second", flush=True
        )
    print(f"{len(shards(options.out))} shards in {options.out}")


if __name__ == "__main__":
    main()
