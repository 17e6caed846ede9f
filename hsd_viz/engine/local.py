"""The engine of this process: resolves a stack, loads what it needs, decodes."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from hsd_viz.adaptive import engine as auto
from hsd_viz.adaptive.loop import AutoLoop
from hsd_viz.backends.choose import Runtimes
from hsd_viz.calibration.draft_costs import DraftCosts
from hsd_viz.calibration.lookaheads import calibrated_lookaheads
from hsd_viz.checks import check_budget, check_range
from hsd_viz.decoding.decode import decode
from hsd_viz.decoding.log import Log
from hsd_viz.decoding.loop import Level, Loop
from hsd_viz.decoding.model import Model
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.text import TokenText
from hsd_viz.drafting import Memory, SharedDatabases, make_drafter
from hsd_viz.drafting.hd import StoredDrafts
from hsd_viz.drafting.shared import check_folder
from hsd_viz.drafting.tree import Drafter
from hsd_viz.engine.memory import free_bytes
from hsd_viz.engine.models import Models
from hsd_viz.ladder.load import weights_dir
from hsd_viz.machine import cpu_model
from hsd_viz.stack import DraftSource, Stack, parse
from hsd_viz.trace import Event, Finished, Stage, Trace

DEFAULT_LOOKAHEAD = 4
MAX_NEW_TOKENS = 100_000
MAX_THREADS = 1024


def load_engine(
    target: str = "target",
    *,
    device: str | None = None,
    dtype: str | None = None,
    threads: int | None = None,
    runtime: str = "auto",
    allow_models: bool = True,
    pad_layers: int = 0,
    pad_noise: float = 0.0,
    databases: str | Path | None = None,
) -> LocalEngine:
    """An engine in this process.

    ``target`` is what ``target`` means in a stack: a ladder name, a hub id or a path. ``device`` is ``cpu``, ``cuda`` or ``auto``,
    which spreads a model over devices, memory and disk (default: the best device there is), ``dtype`` a torch dtype's name
    (default: float32 on the CPU, bfloat16 on a GPU), ``threads`` the CPU threads of torch, for the whole process. ``runtime`` is
    ``auto`` (the fastest there is for each model; see :class:`hsd_viz.backends.choose.Runtimes`) or ``eager`` (transformers' own
    forwards). ``pad_layers`` and ``pad_noise`` make the target, and no draft, a cost-padded model (:func:`hsd_viz.ladder.pad.pad`): real
    cost and real decoding at any price and acceptance, named as such wherever it appears (``target+12``, ``target+12~0.05``).
    ``databases`` is a folder with the databases to use in place of the shipped ones, which serve models of the ladder's tokenizer.
    Models load when a stack first needs them. Raises ``ValueError`` with one sentence for anything that cannot be.
    """
    if threads is not None:
        check_range("the number of threads", threads, 1, MAX_THREADS)
        torch.set_num_threads(threads)
    models = Models(target, device, dtype, allow_models, pad_layers, pad_noise)
    if databases is not None:
        check_folder(databases)
    return LocalEngine(models, Runtimes(models.device, runtime, free=lambda: free_bytes(models.device)), databases)


class LocalEngine:
    """Decodes in this process. Weights and databases are shared by all decodes; each decode has its own caches."""

    def __init__(self, models: Models, runtimes: Runtimes, databases: str | Path | None = None) -> None:
        self.models = models
        self.models.packed = runtimes.packed
        self._runtimes = runtimes
        self._folder = databases
        #: What times decodes. Nanoseconds of the thread's own processor time (``time.thread_time_ns``) leave out what others do on a CPU.
        self.clock: Callable[[], int] = time.perf_counter_ns
        self._databases: dict[str, SharedDatabases] = {}
        #: What `hd` has worked out from the databases: a matter of time alone, so every run may use it.
        self._stored: dict[str, StoredDrafts] = {}
        #: What the drafts of `db` cost their verifiers.
        self._costs = DraftCosts()
        #: What `auto` has found out about costs and acceptance.
        self.learnt = auto.EstimateCache()

    @property
    def device(self) -> str:
        return str(self.models.device)

    @property
    def dtype(self) -> str:
        return self.models.dtype

    @property
    def tokenizer(self):
        """The target's tokenizer."""
        return self.models.text(self.models.target).tokenizer

    def model(self, name: str = "target") -> torch.nn.Module:
        """The Hugging Face model behind a name; ``target`` is this engine's target."""
        return self.models.get(self._name(name)).module

    def fast(self, name: str = "target") -> Model:
        """The model behind a name as decodes run it: in the fastest runtime that is ready."""
        return self._runtimes.pick(self.models.get(self._name(name)))[0]

    def wait_ready(self, progress: Callable[[str], None] = lambda text: None) -> None:
        """Return when nothing is being compiled: figures taken before would be of another runtime. ``progress`` gets words."""
        self._runtimes.wait(progress)

    def run(self, prompt: str | Sequence[int], stack: str = "target", **options: Any) -> Trace:
        """Decode to the end and return the trace; the options of :meth:`decode`."""
        for event in self.decode(prompt, stack, **options):
            if isinstance(event, Finished):
                return event.trace
        raise AssertionError("a decode that is not closed ends with Finished")

    def decode(
        self,
        prompt: str | Sequence[int],
        stack: str = "target",
        *,
        max_new_tokens: int = 128,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        record: bool = True,
        chat: bool = False,
        memory: Memory | None = None,
        budget: int | None = None,
    ) -> Iterator[Event]:
        """Yield ``Stage``..., ``Started``, ``Step``..., ``Finished``; see :class:`hsd_viz.engine.Engine`.

        ``memory`` is what drafters remember from run to run (some rivals do): the same one for every run of a stack means warm;
        by default each run begins cold. ``budget`` is the most draft tokens that a database or rival at the bottom may put up at a
        time, 1-256, whatever they cost (``auto`` goes on weighing costs); by default each drafts as it was made to.

        What can be checked without loading anything is checked at once, before the first event is asked for.
        """
        sampling = Sampling(float(temperature), top_k, float(top_p), seed)
        check_range("max new tokens", max_new_tokens, 1, MAX_NEW_TOKENS)
        check_budget(budget)
        parsed = parse(stack)
        choosing = auto.is_auto(parsed)
        if choosing:
            parsed = auto.levels_of(parsed, self.models.base(self._chain(parsed)[-1]))
        named = self._chain(parsed)
        if self.models.pad_layers and named[-1] != self.models.target:
            raise ValueError(
                f"'{stack.strip()}' ends in {named[-1]}, which is not padded: end it in target, which means {self.models.target}"
            )
        for name in named:
            self.models.where(name)
            if named.count(name) > 1:
                raise ValueError(f"in '{stack.strip()}' {name} would draft for itself: 'target' means {name} here")
        return self._decode(prompt, stack, parsed, choosing, sampling, max_new_tokens, record, chat, memory, budget)

    # --- inside ----------------------------------------------------------------------------------------------------

    def _decode(
        self,
        prompt: str | Sequence[int],
        written: str,
        parsed: Stack,
        choosing: bool,
        sampling: Sampling,
        max_new_tokens: int,
        record: bool,
        chat: bool,
        memory: Memory | None,
        budget: int | None,
    ) -> Iterator[Event]:
        """``parsed`` has the levels; ``choosing``: they are options, one or another of which serves each round."""
        resolved = parsed if choosing else parsed.resolved(DEFAULT_LOOKAHEAD)
        chain = self._chain(resolved)
        if not all(map(self.models.loaded, chain)):
            yield Stage("loading the tokenizer")
        text = self.models.text(chain[-1])
        self.models.check_tokenizers(chain[-1], chain[:-1])
        ids = self._encode(prompt, text, chat)
        loaded: list[Model] = []
        notes: set[str] = set()
        for base in (yield from self.models.prepare(chain, ids, max_new_tokens)):
            model, why_eager = self._runtimes.pick(base)
            loaded.append(model)
            notes |= {why_eager} - {None}
        if notes:
            yield Stage(f"{', '.join(sorted(notes))}: decoding on the eager runtime")
        if not choosing and any(m.lookahead is None for m in parsed.drafts):
            about = self._meta("", written, resolved, loaded, sampling, max_new_tokens)
            resolved = calibrated_lookaheads(parsed, about) or resolved
        positions = min((m.positions for m in loaded if m.positions is not None), default=None)
        eos = self._eos(chain[-1])
        known, costs = None, None
        if choosing:
            resolved, loaded = auto.in_order(resolved, loaded)
            about = partial(self._meta, "", written, resolved, loaded, sampling, max_new_tokens)
            known = self.learnt.of(resolved, loaded, sampling, about)
            costs = known.drafting(auto.NODES)
        elif budget is None and resolved.bottom is not None and resolved.bottom.name == "db":
            if not self._costs.known(loaded[0]):
                yield Stage(f"timing {loaded[0].name}'s forwards")
            costs = self._costs.of(loaded[0])
        drafter = None
        if resolved.bottom is not None:
            drafter = self._drafter(resolved.bottom, chain[-1], memory, costs, sampling.temperature)
        levels = [
            Level("target" if k == len(loaded) - 1 else m.name, model.session(), m.lookahead)
            for k, (m, model) in enumerate(zip(resolved.models, loaded, strict=True))
        ]
        loop = (partial(AutoLoop, estimates=known) if known else Loop)(
            levels,
            drafter,
            sampling,
            ids,
            max_new_tokens=max_new_tokens,
            positions=positions,
            eos=eos,
            budget=auto.NODES if choosing and budget is None else budget,
        )
        loop.log = Log.by(self.clock)
        shown = prompt if isinstance(prompt, str) else text.tokenizer.decode(ids)
        meta = self._meta(shown, written, resolved, loaded, sampling, max_new_tokens)
        if choosing:
            meta["stack_resolved"] = str(auto.resolved(resolved))
        meta["chat"] = chat
        if self._folder is not None:
            meta["databases"] = str(self._folder)
        meta["runtime_note"] = ", ".join(sorted(notes)) or None
        try:
            yield from decode(loop, text, meta, record=record)
        except torch.OutOfMemoryError:
            raise ValueError(
                f"{self.device} ran out of memory: use smaller models, a shorter prompt or fewer tokens"
            ) from None

    def drafter(
        self, stack: str, *, memory: Memory | None = None, temperature: float = 0.0
    ) -> tuple[Drafter, frozenset[int]]:
        """The drafter at the bottom of ``stack`` as a decode with a ``budget`` has it, and the tokens that end a text.

        Raises ``ValueError`` with one sentence for a stack without one.
        """
        parsed = parse(stack)
        if parsed.bottom is None or auto.is_auto(parsed):
            raise ValueError(f"'{stack}' has no drafter at its bottom")
        target = self._chain(parsed)[-1]
        return self._drafter(parsed.bottom, target, memory, None, temperature), self._eos(target)

    def _drafter(
        self, bottom: DraftSource, target: str, memory: Memory | None, costs: Sequence[float] | None, temperature: float
    ) -> Drafter:
        shared = self._shared(target)
        memory = (
            memory if memory is not None else Memory(stored=self._stored.setdefault(target, StoredDrafts(shared.found)))
        )
        drafter = make_drafter(
            bottom, databases=shared, memory=memory, eos=self._eos(target), costs=costs, temperature=temperature
        )
        return self._runtimes.drafter(drafter)

    def _chain(self, stack: Stack) -> list[str]:
        """The models of a stack by name, the target last: the padded one also where the stack names its checkpoint."""
        last = stack.target.name
        return [
            *(self._name(m.name) for m in stack.drafts),
            self._name("target" if last == self.models.target_base else last),
        ]

    def _name(self, name: str) -> str:
        return self.models.target if name == "target" else name

    def _encode(self, prompt: str | Sequence[int], text: TokenText, chat: bool) -> list[int]:
        if isinstance(prompt, list | tuple) and prompt and not chat:
            if all(type(token) is int and 0 <= token < text.size for token in prompt):
                return list(prompt)
            raise ValueError(f"the prompt is no list of token ids: they are whole numbers from 0 to {text.size - 1}")
        if not isinstance(prompt, str):
            raise ValueError(f"the prompt is text or, without chat, a list of token ids, not {type(prompt).__name__}")
        try:
            prompt.encode()
        except UnicodeEncodeError:
            raise ValueError("the prompt holds half a character (a lone surrogate), which is no text") from None
        ids = text.encode_chat(prompt) if chat else text.encode(prompt)
        if ids:
            return ids
        for start in (text.tokenizer.bos_token_id, text.tokenizer.eos_token_id):
            if start is not None:
                return [start]
        raise ValueError("the prompt is empty and the tokenizer has no token to start a text with: write a prompt")

    def _eos(self, target: str) -> frozenset[int]:
        found = getattr(self.models.get(target).module.generation_config, "eos_token_id", None)
        found = found if found is not None else self.models.text(target).tokenizer.eos_token_id
        return frozenset(found if isinstance(found, list) else [] if found is None else [found])

    def _shared(self, target: str) -> SharedDatabases:
        """The databases of the folder that was named, else the shipped ones, where they are of this tokenizer."""
        if target not in self._databases:
            vocabulary, size = self.models.text(target).tokenizer.get_vocab(), self.models.get(target).vocab_size
            if self._folder is not None:
                self._databases[target] = SharedDatabases.require(self._folder, vocabulary, size)
            else:
                self._databases[target] = SharedDatabases.open(weights_dir() / "databases", vocabulary, size)
        return self._databases[target]

    def _meta(
        self, prompt: str, written: str, resolved: Stack, loaded: list[Model], sampling: Sampling, max_new_tokens: int
    ) -> dict[str, Any]:
        first = len(resolved.parts) - len(resolved.models)
        models = [
            {
                "level": first + k,
                "name": "target" if k == len(loaded) - 1 else part.name,
                "model": model.name,
                "lookahead": part.lookahead,
                "parameters": model.parameters,
                "weights": self.models.hash(model.name),
                "runtime": model.runtime,
            }
            for k, (part, model) in enumerate(zip(resolved.models, loaded, strict=True))
        ]
        return {
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "stack": written.strip(),
            "stack_resolved": str(resolved),
            "bottom": str(resolved.bottom) if resolved.bottom else None,
            "models": models,
            "device": self.device,
            "device_name": _device_name(self.models.device),
            "dtype": self.dtype,
            "threads": torch.get_num_threads(),
            "runtime": " + ".join(dict.fromkeys(model.runtime for model in reversed(loaded))),
            "sampling": {
                "temperature": sampling.temperature,
                "top_k": sampling.top_k,
                "top_p": sampling.top_p,
                "seed": sampling.seed,
            },
            "padding_note": self.models.padding_note,
            "prompt": prompt,
            "max_new_tokens": max_new_tokens,
            "versions": {
                "hsd_viz": version("hsd-viz"),
                "torch": torch.__version__,
                "transformers": version("transformers"),
                "python": platform.python_version(),
            },
        }


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return cpu_model()
