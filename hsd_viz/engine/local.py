"""The engine of this process: resolves a stack, loads what it needs, decodes."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from hsd_viz.backends.choose import Runtimes, backend_for
from hsd_viz.calibration.forwards import DraftCosts
from hsd_viz.calibration.pick import calibrated_lookaheads, is_auto, pick
from hsd_viz.card import card, line, table
from hsd_viz.decoding.backend import TOP
from hsd_viz.decoding.log import Log
from hsd_viz.decoding.loop import Level, Loop
from hsd_viz.decoding.model import Model
from hsd_viz.decoding.record import Recorder, decode
from hsd_viz.drafting import Memory, SharedDatabases, make_drafter
from hsd_viz.drafting.hd import StoredDrafts
from hsd_viz.drafting.make import check_folder
from hsd_viz.drafting.tree import Drafter
from hsd_viz.engine import OPTIONS, Engine, options_of
from hsd_viz.engine.drafts import bridged, find_skips, sessions_of
from hsd_viz.engine.memory import free_bytes
from hsd_viz.engine.meta import level_names, meta_of, warn_of_larger_drafts
from hsd_viz.engine.models import Models
from hsd_viz.engine.request import Request, chain_of, checked_request, own_name
from hsd_viz.ladder.load import names, weights_dir
from hsd_viz.latency.mixture import Mixture
from hsd_viz.machine import MAX_THREADS
from hsd_viz.stack import DraftSource, Stack, parse
from hsd_viz.trace import Event, Stage
from hsd_viz.words import check_range

DEFAULT_LOOKAHEAD = 4
#: The widest forward pass that is captured before a decode; wider ones are when they are first needed.
WARM_WIDTH = 24


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
    bridge: str | None = None,
    drafters: str = "auto",
) -> LocalEngine:
    """Make an engine in this process.

    ``target`` is what ``target`` means in a stack: a ladder name, a hub id or a path. ``device`` is ``cpu``, ``cuda``
    or ``auto``, which spreads a model over devices, memory and disk (default: the best device there is), ``dtype`` a
    torch dtype's name (default: float32 on the CPU, bfloat16 on a GPU), ``threads`` the CPU threads of torch, for the
    whole process. ``runtime`` is ``auto`` (the fastest available for each model; see
    :class:`hsd_viz.backends.choose.Runtimes`) or ``eager`` (transformers' own forward passes). ``pad_layers`` and
    ``pad_noise`` make the target, and no draft, a cost-padded model (:func:`hsd_viz.ladder.variants.pad`): real cost
    and real decoding at any cost and acceptance, named as such wherever it appears (``target+12``, ``target+12~0.05``).
    ``databases`` is a folder with the databases to use in place of the shipped ones, which serve models of the ladder's
    tokenizer. Models load when a stack first needs them. ``bridge`` is how a draft model with another tokenizer than
    the target's drafts: ``slem`` (its text, cut again) or ``tli`` (the tokens that both have); by default the one that
    fits the sampling. ``drafters="python"`` keeps the look-ups of ``db`` in Python, as those of the baselines are; by
    default they are native.

    Raises:
        ValueError: if an option is invalid; the message has the value and what is allowed.
    """
    if threads is not None:
        check_range("the number of threads", threads, 1, MAX_THREADS)
        torch.set_num_threads(threads)
    models = Models(target, device, dtype, allow_models, pad_layers, pad_noise, bridge)
    if databases is not None:
        check_folder(databases)
    runtimes = Runtimes(models.device, runtime, free=lambda: free_bytes(models.device), drafters=drafters)
    return LocalEngine(models, runtimes, databases)


class LocalEngine(Engine):
    """Decodes in this process. Weights and databases are shared by all decodes; each decode has its own caches."""

    def __init__(self, models: Models, runtimes: Runtimes, databases: str | Path | None = None) -> None:
        self.models = models
        self.models.packed = runtimes.packed
        self._runtimes = runtimes
        self._folder = databases
        #: The clock of decodes, in ns. The thread's own processor time (``time.thread_time_ns``) leaves out other work
        #: on the CPU.
        self.clock: Callable[[], int] = time.perf_counter_ns
        #: Called with the loop and the recorder of each decode before it starts: where a profiler attaches.
        self.on_decode: Callable[[Loop, Recorder], None] | None = None
        self._closed = False
        self._databases: dict[str, SharedDatabases] = {}
        #: The drafts that `hd` has read from the databases, cached for all runs.
        self._stored: dict[str, StoredDrafts] = {}
        #: What the drafts of `db` cost their verifiers.
        self._costs = DraftCosts()
        #: What was measured for `auto`.
        self._measured: dict[str, Mixture | None] = {}

    def __repr__(self) -> str:
        """Return one line: the target, the device and the dtype."""
        return f"LocalEngine(target={self.models.target!r}, device={self.device!r}, dtype={self.dtype!r})"

    def _repr_html_(self) -> str:
        """Return the target, the device and how to decode for a notebook."""
        rows = [("target", self.models.target), ("device", self.device), ("dtype", self.dtype)]
        rows += [("ladder", ", ".join(names())), ("databases", self._folder or "shipped")]
        use = 'Decode with engine.run(prompt, stack="db > target"); models load when a stack first needs them.'
        return card("Engine", self.models.target, table((), rows), line(use))

    @property
    def databases_folder(self) -> str | Path | None:
        """The folder of the databases in place of the shipped ones; ``None``: the shipped ones."""
        return self._folder

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release models and databases; ``with load_engine() as engine:`` does it at the end of the block."""
        self.models.close()
        self._runtimes.close()
        self._databases, self._stored, self._measured, self._costs = {}, {}, {}, DraftCosts()
        self._closed = True

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
        """Return the Hugging Face model behind a name; ``target`` is this engine's target."""
        return self.models.get(own_name(self.models, name)).module

    def fast(self, name: str = "target") -> Model:
        """Return the model behind a name as decodes run it: in the fastest runtime that is ready."""
        return self._runtimes.pick(self.models.get(own_name(self.models, name)))[0]

    @property
    def native_drafters(self) -> bool:
        """Whether the look-ups of ``db`` are native; those of the baselines are Python's."""
        return self._runtimes.native_drafters

    def resolve(self, name: str) -> str:
        """Return a model's own name: ``target`` is this engine's target."""
        return self.models.target if name == "target" else name

    def round_costs(self, name: str = "target") -> Sequence[float]:
        """Return ms of a round of a model that verifies 0, 1, 2, ... draft tokens, measured once."""
        return self._costs.of(self.fast(name))

    def wait_ready(self, progress: Callable[[str], None] = lambda text: None) -> None:
        """Wait until nothing is being compiled, as figures before are of another runtime; ``progress`` gets a text."""
        self._runtimes.wait(progress)

    @options_of(Engine.decode)
    def decode(
        self,
        prompt: str | Sequence[int],
        stack: str | Stack = "target",
        *,
        memory: Memory | None = None,
        budget: int | None = None,
        **options: Any,
    ) -> Iterator[Event]:
        """Yield ``Stage``..., ``Started``, ``Step``..., ``Finished``; see :class:`hsd_viz.engine.Engine`.

        ``memory`` is what drafters remember from run to run (some baselines do): the same one for every run of a stack
        means warm; by default each run begins cold. ``budget`` is the most draft tokens that a database or baseline may
        propose at a time, 1-256, regardless of their cost; by default each uses its own limit.

        ``rule`` verifies drafts that were sampled from rows, at temperatures above 0: ``token`` or ``block`` for all
        levels, or a rule by the name of the verifying model as the stack has it (others: the default).

        What can be checked without loading anything is checked at once, before the first event is requested.
        """
        if self._closed:
            raise ValueError("the engine is closed: load another one with load_engine()")
        return self._decode(checked_request(self.models, prompt, stack, memory, budget, {**OPTIONS, **options}))

    run = options_of(decode)(inspect.unwrap(Engine.run))

    # --- inside ----------------------------------------------------------------------------------------------------

    def _decode(self, request: Request) -> Iterator[Event]:
        """Load what ``request`` needs, resolve its stack, decode."""
        sampling, max_new_tokens = request.sampling, request.max_new_tokens
        parsed = yield from find_skips(self, request.parsed, sampling)
        resolved = parsed if request.choosing else parsed.resolved(DEFAULT_LOOKAHEAD)
        chain = self._chain(resolved)
        if not all(map(self.models.loaded, chain)):
            yield Stage("loading the tokenizer")
        text = self.models.text(chain[-1])
        # The lowest level may have another tokenizer.
        lowest = resolved.bottom is None and len(chain) > 1 and not request.choosing
        hint = ": such a model can only be the lowest level of a stack"
        self.models.check_tokenizers(chain[-1], chain[lowest:-1], hint)
        ids = text.read(request.prompt, request.chat)
        loaded: list[Model] = []
        notes: set[str] = set()
        for base in (yield from self.models.prepare(chain, ids, max_new_tokens)):
            model, why_eager = self._runtimes.pick(base)
            loaded.append(model)
            notes |= {why_eager} - {None}
        warn_of_larger_drafts(loaded)
        if notes:
            yield Stage(f"{', '.join(sorted(notes))}: decoding on the eager runtime")
        if lowest:
            loaded = yield from bridged(self.models, chain, loaded, sampling)
        if any(m.lookahead is None for m in parsed.drafts) or request.choosing:
            about = meta_of(self.models, request, resolved, loaded)
            if request.choosing:
                by_name = dict(zip(chain, loaded, strict=True))
                resolved = yield from pick(self, parsed, about, self._measured)
                loaded = [by_name[name] for name in self._chain(resolved)]
            else:
                resolved = calibrated_lookaheads(parsed, about) or resolved
        loop = yield from self._loop(request, resolved, loaded, ids)
        shown = request.prompt if isinstance(request.prompt, str) else text.tokenizer.decode(ids)
        meta = meta_of(self.models, request, resolved, loaded) | {"prompt": shown, "chat": request.chat}
        meta |= {"rules": dict(request.rules)} if request.rules else {}
        meta |= {} if self._folder is None else {"databases": str(self._folder)}
        meta["runtime_note"] = ", ".join(sorted(notes)) or None
        recorder = Recorder(loop, text, request.record)
        if self.on_decode is not None:
            self.on_decode(loop, recorder)
        try:
            yield from decode(loop, recorder, meta)
        except torch.OutOfMemoryError:
            raise ValueError(
                f"{self.device} ran out of memory: use smaller models, a shorter prompt or fewer tokens"
            ) from None

    def _loop(
        self, request: Request, resolved: Stack, loaded: list[Model], ids: list[int]
    ) -> Generator[Stage, None, Loop]:
        """Build the loop of a resolved stack over the models ``loaded``."""
        bottom, target, costs, drafter = resolved.bottom, self._chain(resolved)[-1], None, None
        if request.budget is None and bottom is not None and bottom.name == "db":
            if not self._costs.known(loaded[0]):
                yield Stage(f"timing {loaded[0].name}'s forward passes")
            costs = self._costs.of(loaded[0])
        if bottom is not None:
            drafter = self._drafter(bottom, target, request.memory, costs, request.sampling.temperature)
        positions = min((m.positions for m in loaded if m.positions is not None), default=None)
        end = min(len(ids) + request.max_new_tokens, positions or len(ids) + request.max_new_tokens)
        levels = [
            Level(name, session, m.lookahead, request.rules.get(name))
            for m, session, name in zip(resolved.models, sessions_of(loaded, end), level_names(resolved), strict=True)
        ]
        loop = Loop(
            levels,
            drafter,
            request.sampling,
            ids,
            backend=backend_for(loaded[-1]),
            max_new_tokens=request.max_new_tokens,
            positions=positions,
            eos=self._eos(target),
            budget=request.budget,
            log=Log.by(self.clock),
        )
        loop.details = TOP if request.record else 0
        for k, level in enumerate(levels):
            if (warm := getattr(level.model, "warm", None)) is not None:
                yield Stage(f"capturing the graphs of {level.name}")
                # The lowest model samples its drafts in one launch, unless there is a drafter below it.
                drafts = [level.lookahead] if k == 0 and bottom is None and level.lookahead else []
                below, over = k < len(levels) - 1, k == 0 and bottom is not None
                point = loop.greedy or (not below and (over or not k) and request.sampling.top_p == 1)
                notes = None if below else loop.notes()
                verified = [(tree, below, notes) for tree in (False, True)[: 1 + over] if point and not drafts]
                most = 2 if len(levels) == 1 and bottom is None else WARM_WIDTH
                warm(len(ids), end, most, drafts, request.sampling, verified)
        return loop

    def drafter(
        self, stack: str, *, memory: Memory | None = None, temperature: float = 0.0
    ) -> tuple[Drafter, frozenset[int]]:
        """Return the drafter at the bottom of ``stack`` as a decode with a ``budget`` has it, and the tokens that end a
        text.

        Raises:
            ValueError: if the stack has no database or baseline.
        """
        parsed = parse(stack)
        if parsed.bottom is None or is_auto(parsed):
            raise ValueError(f"'{stack}' has no drafter at its bottom")
        target = self._chain(parsed)[-1]
        return self._drafter(parsed.bottom, target, memory, None, temperature), self._eos(target)

    def _drafter(
        self, bottom: DraftSource, target: str, memory: Memory | None, costs: Sequence[float] | None, temperature: float
    ) -> Drafter:
        shared = self._shared(target)
        if memory is None:
            memory = Memory(stored=self._stored.setdefault(target, StoredDrafts(shared.found)))
        drafter = make_drafter(
            bottom, databases=shared, memory=memory, eos=self._eos(target), costs=costs, temperature=temperature
        )
        return self._runtimes.drafter(drafter)

    def _chain(self, stack: Stack) -> list[str]:
        return chain_of(self.models, stack)

    def _eos(self, target: str) -> frozenset[int]:
        found = getattr(self.models.get(target).module.generation_config, "eos_token_id", None)
        found = found if found is not None else self.models.text(target).tokenizer.eos_token_id
        return frozenset(found if isinstance(found, list) else [] if found is None else [found])

    def _shared(self, target: str) -> SharedDatabases:
        """Return the databases of the configured folder, else the shipped ones, where they are of this tokenizer."""
        if target not in self._databases:
            vocabulary, size = self.models.text(target).tokenizer.get_vocab(), self.models.get(target).vocab_size
            if self._folder is not None:
                self._databases[target] = SharedDatabases.require(self._folder, vocabulary, size)
            else:
                self._databases[target] = SharedDatabases.open(weights_dir() / "databases", vocabulary, size)
        return self._databases[target]
