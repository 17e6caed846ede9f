"""The engine of this process: resolves a stack, loads what it needs, decodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from hsd_viz.decoding.decode import LIKELIEST
from hsd_viz.decoding.engine import Engine, Options
from hsd_viz.decoding.event_stream import decode
from hsd_viz.decoding.session import DraftModel, Model
from hsd_viz.decoding.text import Prompt, Tokenizer
from hsd_viz.drafting import Memory, SharedDatabases, make_drafter
from hsd_viz.drafting.costs import CostCurve
from hsd_viz.drafting.shared import FIVEGRAMS, STORED, check_folder
from hsd_viz.drafting.tree import Drafter
from hsd_viz.engine.facts import DecodeFacts, LevelFacts
from hsd_viz.engine.forwards import Costs
from hsd_viz.engine.loops import loop_class, open_levels
from hsd_viz.engine.models import EngineModels
from hsd_viz.engine.options import EngineOptions
from hsd_viz.engine.resolve import Resolved, own_name, resolve
from hsd_viz.engine.stack_models import StackModels, load_stack
from hsd_viz.errors import UserError
from hsd_viz.machine import set_threads
from hsd_viz.native.drafter import native_drafter
from hsd_viz.settings.keywords import keywords_from
from hsd_viz.stack import DATABASE, TARGET, Stack, parse
from hsd_viz.terminal import Status, ignore_status
from hsd_viz.trace import Event, Stage

if TYPE_CHECKING:
    import torch


@keywords_from(EngineOptions)
def load_engine(options: EngineOptions) -> LocalEngine:
    """Make an engine in this process. Models load when a stack first needs them.

    The models of a family need neither torch nor transformers. The number of threads is that of the
    whole process. The shipped costs make the same command give the same text on every machine;
    measured ones are timed once for each model.

    Raises:
        UserError: if an option is invalid; the message has the value and what is allowed.
    """
    return LocalEngine.of(options)


class LocalEngine(Engine):
    """Decodes in this process. Weights and databases are shared by all decodes; each decode has its
    own caches.
    """

    def __init__(
        self, models: EngineModels, costs: Costs, databases: str | Path | None = None
    ) -> None:
        self.models = models
        self.family = models.family.name
        self.target = models.target
        self.device = models.device
        self.dtype = models.dtype
        self.databases = None if databases is None else str(databases)
        self._costs = costs
        self._closed = False
        #: The databases by target, and what the selector has decided.
        self._opened: dict[str, SharedDatabases] = {}
        self._decided: dict[Any, Stack] = {}

    @classmethod
    def of(cls, options: EngineOptions) -> LocalEngine:
        """Make the engine that these options describe.

        Raises:
            UserError: if one of them is invalid.
        """
        if options.threads is not None:
            set_threads(options.threads)
        models = EngineModels(
            options.target,
            device=options.device,
            dtype=options.dtype,
            allow_models=options.allow_models,
            bridge=options.bridge,
            runtime=options.runtime,
            family=options.family,
        )
        if options.databases is not None:
            check_folder(options.databases)
        return cls(models, Costs(options.costs, models.family.costs), options.databases)

    def __repr__(self) -> str:
        return (
            f"LocalEngine(family={self.family!r}, target={self.target!r}, "
            f"device={self.device!r}, dtype={self.dtype!r})"
        )

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release models and databases; ``with load_engine() as engine:`` does it at the end of the
        block.
        """
        self.models.close()
        self._opened = {}
        self._decided = {}
        self._closed = True

    @property
    def tokenizer(self) -> Tokenizer:
        return self.models.text(self.target).tokenizer

    def model(self, name: str = TARGET) -> Model:
        return self.models.fast(self._own(name))

    def module(self, name: str = TARGET) -> torch.nn.Module:
        """Return the Hugging Face model behind a name."""
        return self.models.module(self._own(name)).module

    def wait_ready(self, progress: Status = ignore_status) -> None:
        for stage in self.models.compiling():
            progress(stage)
        for model in self.models.compiled:
            progress(f"compiling the forward passes of {model.name}")
            model.warm_up()

    def decode(
        self, prompt: Prompt, stack: str | Stack = TARGET, **options: Unpack[Options]
    ) -> Iterator[Event]:
        if self._closed:
            raise UserError("the engine is closed: load another one with load_engine()")
        models = self.models
        asked = resolve(stack, self.target, models.family, models.where, options)
        return self._events(prompt, asked)

    def drafter(
        self,
        stack: str | Stack,
        *,
        memory: Memory | None = None,
        temperature: float = 0.0,
        costs: CostCurve | None = None,
    ) -> tuple[Drafter, frozenset[int]]:
        """Return the drafter at the bottom of ``stack``, native where there is one, and the tokens
        that end a text. Its databases are those of the configured folder, else the shipped ones,
        where they are of this tokenizer; without ``costs`` only a budget ends its drafts.

        Raises:
            UserError: if the stack has no database or baseline.
        """
        parsed = parse(stack)
        models = self.models
        if parsed.bottom is None or parsed.automatic:
            raise UserError(f"'{stack}' has no drafter at its bottom")
        target = self._own(parsed.target.name)
        if (shared := self._opened.get(target)) is None:
            shared = self._opened[target] = self._open_databases(target)
        eos = models.eos(target)
        made = make_drafter(
            parsed.bottom,
            databases=shared,
            memory=memory,
            eos=eos,
            costs=costs,
            temperature=temperature,
        )
        if models.build and models.build.wait():
            made = native_drafter(made, models.build.library) or made
        return made, eos

    # --- inside -----------------------------------------------------------------------------------

    def _open_databases(self, target: str) -> SharedDatabases:
        """Open the configured databases, else those of the family, for a target."""
        family = self.models.family
        if self.databases is None and not family.databases.is_dir():
            reason = (
                f"the databases of the family {family.name} are not installed: "
                f"run `{family.installation}` ({family.package.megabytes} MB)"
            )
            return SharedDatabases(absent=dict.fromkeys((*STORED, FIVEGRAMS), reason))
        tokens = self.models.text(target).tokenizer.get_vocab()
        size = self.models.fast(target).vocab_size
        folder = self.databases or family.databases
        return SharedDatabases.open(folder, tokens, size, strict=self.databases is not None)

    def _own(self, name: str) -> str:
        return own_name(name, self.target)

    def _events(self, prompt: Prompt, asked: Resolved) -> Iterator[Event]:
        """Load what a decode needs, let the selector decide what is left to it, decode."""
        models = self.models
        target = asked.names[-1]
        options = asked.options
        if not all(map(models.loaded, asked.names)):
            yield Stage("loading the tokenizer")
        text = models.text(target)
        ids = text.read(prompt, options.chat)
        alone = asked.stack.bottom is None and len(asked.names) > 1 and not asked.choosing
        loaded = yield from load_stack(models, asked.names, ids, asked.sampling, alone)
        level_models = loaded.models
        if asked.selects:
            asked, level_models = self._selected(asked, loaded)
        drafter = self._drafter_for(asked)
        most = len(ids) + options.max_new_tokens
        levels = open_levels(asked, level_models, most)
        unsure_stops = any(level.confidence for level in levels)
        make_loop = loop_class(level_models, drafter, asked.sampling.rule, unsure_stops)
        loop = make_loop(
            levels,
            drafter,
            asked.sampling,
            ids,
            max_new_tokens=options.max_new_tokens,
            positions=level_models[-1].positions,
            eos=models.eos(target),
            budget=options.budget,
            details=LIKELIEST if options.record else 0,
        )
        meta = self._facts(asked, level_models, loaded.bridges).to_dict()
        meta["costs"] = self._costs.source
        meta["runtime_note"] = loaded.note
        meta["prompt"] = prompt if isinstance(prompt, str) else text.tokenizer.decode(ids)
        try:
            yield from decode(loop, text, meta)
        except RuntimeError as error:
            if type(error).__name__ != "OutOfMemoryError":  # torch's
                raise
            less = "use smaller models, a shorter prompt or fewer tokens"
            raise UserError(f"{self.device} ran out of memory: {less}") from None

    def _selected(self, asked: Resolved, loaded: StackModels) -> tuple[Resolved, list[DraftModel]]:
        """Let the selector choose what is left to it; return the decode and its models."""
        from hsd_viz.latency.stored import decide

        key = (asked.stack, asked.choosing, asked.sampling)
        if key not in self._decided:
            facts = self._facts(asked, loaded.models, loaded.bridges)
            self._decided[key] = decide(asked.stack, asked.choosing, facts.to_dict())
        by_name = dict(zip(asked.names, loaded.models, strict=True))
        chosen = asked.with_stack(self._decided[key])
        return chosen, [by_name[name] for name in chosen.names]

    def _drafter_for(self, asked: Resolved) -> Drafter | None:
        """Return the drafter below the lowest model; ``None`` if the stack has none."""
        source = asked.stack.bottom
        if source is None:
            return None
        costs = None
        if source.name == DATABASE and asked.options.budget is None:
            verifier = self.models.fast(asked.names[0])
            costs = self._costs.of(verifier, self.device.partition(":")[0])
        drafter, _ = self.drafter(
            asked.stack,
            memory=asked.options.memory,
            temperature=asked.sampling.temperature,
            costs=costs,
        )
        return drafter

    def _facts(
        self,
        asked: Resolved,
        models: Sequence[DraftModel],
        bridges: Mapping[str, dict[str, int | str]],
    ) -> DecodeFacts:
        """Return the facts about a decode by these ``models``; ``bridges`` are those of models with
        another vocabulary than the target's.
        """
        lowest = len(asked.stack.parts) - len(models)
        levels = []
        parts = zip(asked.levels, models, asked.stack.models, strict=True)
        for level, (name, model, part) in enumerate(parts, lowest):
            facts = LevelFacts(
                level=level,
                name=name,
                model=model.name,
                lookahead=part.lookahead,
                confidence=part.confidence,
                parameters=model.parameters,
                weights=self.models.hash(model.name),
                runtime=model.runtime,
                bridge=bridges.get(model.name),
            )
            levels.append(facts)
        return DecodeFacts(
            family=self.family,
            written=asked.written,
            stack=asked.stack,
            levels=tuple(levels),
            device=self.device,
            dtype=self.dtype,
            sampling=asked.sampling,
            chat=asked.options.chat,
            max_new_tokens=asked.options.max_new_tokens,
            databases=self.databases,
        )
