"""The engine of this process, which resolves a stack, loads its models and decodes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hsd_viz.decoding.base_loop import RECORDED_TOP, LoopInputs
from hsd_viz.decoding.engine import Engine
from hsd_viz.decoding.event_stream import decode
from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.decoding.session import DraftModel, Model
from hsd_viz.decoding.text import Prompt, Tokenizer
from hsd_viz.drafting import Memory, SharedDatabases, make_drafter
from hsd_viz.drafting.costs import CostCurve
from hsd_viz.drafting.shared import FIVEGRAMS, STORED, check_folder
from hsd_viz.drafting.tree import Drafter
from hsd_viz.engine.decode_facts import DecodeFacts, LevelFacts
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
    """Create an engine in this process. Models are loaded when a stack first needs them.

    The models of a family need neither torch nor transformers. The number of threads applies to the
    whole process. With the shipped costs the same call gives the same text on every machine;
    measured costs are timed once for each model.

    Raises:
        UserError: if an option is invalid.
    """
    return LocalEngine.of(options)


class LocalEngine(Engine):
    """An engine that decodes in this process.

    All decodes share weights and databases; each decode has caches of its own.
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
        #: The open databases by target.
        self._shared_databases: dict[str, SharedDatabases] = {}
        #: The stacks that the selector chose since the last calibration, by request and identity.
        self._chosen_stacks: dict[tuple[Stack, bool, str], Stack] = {}
        self._last_calibration = 0

    @classmethod
    def of(cls, options: EngineOptions) -> LocalEngine:
        """Create an engine from options.

        Raises:
            UserError: if an option is invalid.
        """
        if options.threads is not None:
            set_threads(options.threads)
        models = EngineModels(options)
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
        """Release models and databases, as ``with load_engine() as engine:`` does at its end."""
        self.models.close()
        self._shared_databases = {}
        self._chosen_stacks = {}
        self._closed = True

    @property
    def tokenizer(self) -> Tokenizer:
        return self.models.text(self.target).tokenizer

    def model(self, name: str = TARGET) -> Model:
        return self.models.fast(self._model_name(name))

    def module(self, name: str = TARGET) -> torch.nn.Module:
        """Return a model as a module of transformers."""
        return self.models.opened.module(self._model_name(name)).module

    def wait_ready(self, progress: Status = ignore_status) -> None:
        for stage in self.models.compiling():
            progress(stage)
        for model in self.models.compiled:
            progress(f"compiling the forward passes of {model.name}")
            model.warm_up()

    def events(
        self, prompt: Prompt, stack: str | Stack, options: DecodingOptions
    ) -> Iterator[Event]:
        if self._closed:
            raise UserError("the engine is closed: load another one with load_engine()")
        models = self.models
        resolved = resolve(stack, self.target, models.family, models.location, options)
        return self._resolved_events(prompt, resolved)

    def drafter(
        self,
        stack: str | Stack,
        *,
        memory: Memory | None = None,
        temperature: float = 0.0,
        costs: CostCurve | None = None,
    ) -> tuple[Drafter, frozenset[int]]:
        """Create the drafter at the bottom of a stack, in the native runtime if possible.

        Its databases are those of the configured folder, else the shipped databases if they were
        made with the target's tokenizer.

        Args:
            stack: the stack as text or parsed.
            memory: the state shared by runs; by default a new, empty one.
            temperature: the sampling temperature.
            costs: the cost of verification; with ``None`` only a budget ends a draft.

        Returns:
            The drafter, and the tokens that end a text.

        Raises:
            UserError: if the stack has no database or baseline.
        """
        parsed = parse(stack)
        models = self.models
        if parsed.bottom is None or parsed.automatic:
            raise UserError(f"'{stack}' has no drafter at its bottom")
        target = self._model_name(parsed.target.name)
        if (shared := self._shared_databases.get(target)) is None:
            shared = self._shared_databases[target] = self._open_databases(target)
        eos = models.opened.eos(target)
        drafter = make_drafter(
            parsed.bottom,
            databases=shared,
            memory=memory,
            eos=eos,
            costs=costs,
            temperature=temperature,
        )
        if models.build and models.build.wait() and drafter is not None:
            drafter = native_drafter(drafter, models.build.library)
        return drafter, eos

    # --- internals --------------------------------------------------------------------------------

    def _open_databases(self, target: str) -> SharedDatabases:
        """Open the configured databases, or those of the family, for a target."""
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

    def _model_name(self, name: str) -> str:
        return own_name(name, self.target)

    def _resolved_events(self, prompt: Prompt, resolved: Resolved) -> Iterator[Event]:
        """Load the models of a request, let the selector choose where requested, and decode."""
        models = self.models
        target = resolved.names[-1]
        options = resolved.options
        sampling = options.sampling
        if not all(map(models.loaded, resolved.names)):
            yield Stage("loading the tokenizer")
        text = models.text(target)
        ids = text.read(prompt, options.chat)
        alone = resolved.stack.bottom is None and len(resolved.names) > 1 and not resolved.choosing
        loaded = yield from load_stack(models, resolved.names, ids, sampling, alone)
        level_models = loaded.models
        if resolved.selects:
            resolved, level_models = self._selected(resolved, loaded)
        drafter = self._drafter_for(resolved)
        length = len(ids) + options.max_new_tokens
        levels = open_levels(resolved, level_models, length)
        unsure_stops = any(level.confidence for level in levels)
        make_loop = loop_class(level_models, drafter, sampling.rule, unsure_stops)
        inputs = LoopInputs(
            levels,
            drafter,
            sampling,
            ids,
            max_new_tokens=options.max_new_tokens,
            positions=level_models[-1].positions,
            eos=models.opened.eos(target),
            budget=options.budget,
            details=RECORDED_TOP if options.record else 0,
        )
        loop = make_loop(inputs)
        meta = self._facts(resolved, level_models, loaded.bridges).to_dict()
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

    def _selected(
        self, resolved: Resolved, loaded: StackModels
    ) -> tuple[Resolved, list[DraftModel]]:
        """Let the selector choose, and return the completed request and its models."""
        from hsd_viz.latency.stored import decide, identity, last_change

        meta = self._facts(resolved, loaded.models, loaded.bridges).to_dict()
        if self._last_calibration != (last_calibration := last_change()):
            self._chosen_stacks.clear()
            self._last_calibration = last_calibration
        key = (resolved.stack, resolved.choosing, json.dumps(identity(meta), sort_keys=True))
        if (chosen_stack := self._chosen_stacks.get(key)) is None:
            chosen_stack = decide(resolved.stack, resolved.choosing, meta)
            self._chosen_stacks[key] = chosen_stack
        by_name = dict(zip(resolved.names, loaded.models, strict=True))
        chosen = resolved.with_stack(chosen_stack)
        return chosen, [by_name[name] for name in chosen.names]

    def _drafter_for(self, resolved: Resolved) -> Drafter | None:
        """Return the drafter below the lowest model; ``None`` if the stack has none."""
        source = resolved.stack.bottom
        if source is None:
            return None
        costs = None
        if source.name == DATABASE and resolved.options.budget is None:
            verifier = self.models.fast(resolved.names[0])
            costs = self._costs.of(verifier, self.device.partition(":")[0])
        drafter, _ = self.drafter(
            resolved.stack,
            memory=resolved.options.memory,
            temperature=resolved.options.temperature,
            costs=costs,
        )
        return drafter

    def _facts(
        self,
        resolved: Resolved,
        models: Sequence[DraftModel],
        bridges: Mapping[str, dict[str, int | str]],
    ) -> DecodeFacts:
        """Return the facts about a decode.

        Args:
            resolved: the resolved request.
            models: the models of the stack, the target last.
            bridges: the facts about the bridges of models with another vocabulary, by name.
        """
        lowest = len(resolved.stack.parts) - len(models)
        levels = []
        parts = zip(resolved.levels, models, resolved.stack.models, strict=True)
        for level, (name, model, part) in enumerate(parts, lowest):
            facts = LevelFacts(
                level=level,
                name=name,
                model=model.name,
                lookahead=part.lookahead,
                confidence=part.confidence,
                parameters=model.parameters,
                weights=self.models.files.hash(model.name),
                runtime=model.runtime,
                bridge=bridges.get(model.name),
            )
            levels.append(facts)
        return DecodeFacts(
            family=self.family,
            written=resolved.written,
            stack=resolved.stack,
            levels=tuple(levels),
            device=self.device,
            dtype=self.dtype,
            sampling=resolved.options.sampling,
            chat=resolved.options.chat,
            max_new_tokens=resolved.options.max_new_tokens,
            databases=self.databases,
        )
