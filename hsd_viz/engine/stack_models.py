"""Load the models of a stack. No other part of a decode reads files, downloads or waits."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.session import DraftModel
from hsd_viz.engine.models import EngineModels
from hsd_viz.errors import PromptError, PromptTooLong, UserError
from hsd_viz.stack import split_copy
from hsd_viz.trace import Stage


@dataclass(frozen=True, slots=True)
class StackModels:
    """The models of a stack.

    Attributes:
        models: the model of each level, the target last.
        note: the reason why one or more models use a slow runtime; ``None`` if none does.
        bridges: the facts that a trace records about models with another vocabulary than the
            target's, by name.
    """

    models: list[DraftModel]
    note: str | None
    bridges: dict[str, dict[str, int | str]]


def load_stack(
    models: EngineModels, chain: Sequence[str], ids: Sequence[int], sampling: Sampling, alone: bool
) -> Generator[Stage, None, StackModels]:
    """Load the models of a stack for a prompt, yielding stages.

    Only a lowest model that drafts alone may have another tokenizer than the target. The token ids
    of all other models must mean the same as the target's, with few exceptions.

    Args:
        models: the models of the engine.
        chain: the names of the models in the stack, the target last.
        ids: the token ids of the prompt.
        sampling: the sampling settings.
        alone: whether the lowest model drafts alone, without a drafter below it.

    Raises:
        UserError: if the models do not fit together.
    """
    target = chain[-1]
    vocabularies = models.vocabularies
    _check_copies(models, chain)
    for name in chain[alone:-1]:
        if not vocabularies.reads_ids(target, name):
            vocabularies.check_same(
                target, name, ": such a model can only be the lowest level of a stack"
            )
    yield from _load_all(models, chain)
    picked = [models.pick(name) for name in chain]
    level_models: list[DraftModel] = [each.model for each in picked]
    _check_prompt(models, target, ids)
    notes = sorted({each.note for each in picked if each.note})
    note = ", ".join(notes) or None
    if note is not None:
        in_numpy = any(model.runtime == "numpy" for model in level_models)
        slow = "in numpy" if in_numpy else "on the eager runtime"
        yield Stage(f"{note}: decoding {slow}")
    bridges: dict[str, dict[str, int | str]] = {}
    for level, name in enumerate(chain[:-1]):
        adapted = vocabularies.adapt(target, name, sampling)
        if adapted is None:
            continue
        yield Stage(adapted.message)
        level_models[level] = adapted.model
        bridges[name] = adapted.description
    return StackModels(level_models, note, bridges)


def _check_copies(models: EngineModels, chain: Sequence[str]) -> None:
    """Raise ``UserError`` if a copy has the weights of the target in the target's own type."""
    target = models.location(chain[-1])
    for name in chain[:-1]:
        original, copied = split_copy(name)
        if copied == models.dtype and models.location(original) == target:
            raise UserError(
                f"{name} is the target itself, whose weights are {models.dtype} here: "
                "a copy of another type drafts for it, as int8 does under dtype bfloat16"
            )


def _load_all(models: EngineModels, chain: Sequence[str]) -> Generator[Stage, None, None]:
    """Load the models that are not loaded yet, yielding stages."""
    if all(map(models.loaded, chain)):
        return
    yield from map(Stage, models.compiling())
    for name in chain:
        yield Stage(f"loading {name}")
        models.pick(name)


def _check_prompt(models: EngineModels, target: str, ids: Sequence[int]) -> None:
    """Raise ``PromptError`` if a prompt does not fit the target."""
    model = models.fast(target)
    if model.positions is not None and len(ids) >= model.positions:
        raise PromptTooLong(len(ids), model.positions)
    size = model.vocab_size
    if max(ids) >= size:
        text = models.text(target)
        token = f"the token {text.piece(max(ids))[0]!r} ({max(ids)})"
        raise PromptError(f"the prompt holds {token} and {target} knows {size} tokens only")
