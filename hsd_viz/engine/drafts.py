"""Draft models that are made for a target: with another tokenizer, or of the target's own layers."""

from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from hsd_viz.backends.choose import open_session
from hsd_viz.calibration import skips
from hsd_viz.calibration.pick import BUCKETS
from hsd_viz.decoding.bridge import BridgedModel
from hsd_viz.decoding.model import CachedModel, HFModel, HFSession, Model, PrefixSession
from hsd_viz.decoding.settings import PromptTooLong, Sampling
from hsd_viz.prompts.suites import load_suite
from hsd_viz.stack import Stack, split_variant, variant_name
from hsd_viz.trace import Stage


def bridged(
    models: Any, chain: list[str], loaded: list[Model], sampling: Sampling
) -> Generator[Stage, None, list[Model]]:
    """Return the models of a stack, the lowest one behind a bridge if its tokenizer is not the target's."""
    lowest, target = chain[0], chain[-1]
    bridge = models.bridge(target, lowest)
    if bridge is None:
        return loaded
    kind = models.forced_bridge or bridge.choose(sampling)
    yield Stage(f"{lowest} has another tokenizer: it drafts by {kind.upper()}")
    return [BridgedModel(loaded[0], bridge, kind, loaded[-1].vocab_size), *loaded[1:]]


def sessions_of(models: list[Model], room: int = 0) -> list[CachedModel]:
    """Open a session of each model of a stack, for a text of ``room`` tokens. A draft of the target's first layers
    shares the target's cache. The keys and values of a layer depend on the layers below it alone, so that of a draft
    without the last layers they are the target's.
    """
    *drafts, target = models
    last = open_session(target, room)
    found: list[CachedModel] = []
    for draft in drafts:
        if isinstance(last, HFSession) and isinstance(draft, HFModel) and draft.prefix_of == target.name:
            found.append(PrefixSession(draft, last))
        else:
            found.append(open_session(draft, room))
    return [*found, last]


def find_skips(engine: Any, stack: Stack, sampling: Sampling) -> Generator[Stage, None, Stack]:
    """Return ``stack`` with the layers that its self-drafts leave out, found once for a model and a temperature."""
    found = []
    for model in stack.models:
        base, variant = split_variant(model.name)
        if variant == ():
            choice = yield from _found(engine, engine.resolve(base), sampling)
            model = replace(model, name=variant_name(base, choice.layers))
        found.append(model)
    return Stack(stack.bottom, tuple(found))


def _found(engine: Any, name: str, sampling: Sampling) -> Generator[Stage, None, skips.SkipChoice]:
    temperature = min(BUCKETS, key=lambda bucket: abs(bucket - sampling.temperature))
    models, at = engine.models, Sampling(temperature)
    identity = [models.where(name), name, models.hash(name), engine.device, engine.dtype, temperature]
    if (kept := skips.load(identity)) is not None:
        return kept
    count = models.config(name).get_text_config(decoder=True).num_hidden_layers
    if count < 2:
        raise ValueError(f"{name} has one layer only: nothing can be left out of it")
    title, total = f"{name}[skip]: finding the layers to leave out", skips.PROMPTS + 2 * count - 2
    texts: list[tuple[list[int], int]] = []
    yield Stage(title, 0, total)
    for k, prompt in enumerate(load_suite(skips.SUITE).limited(skips.PROMPTS).prompts):
        options = {"max_new_tokens": skips.TOKENS, "temperature": temperature, "seed": k, "record": False}
        with suppress(PromptTooLong):
            trace = engine.run(prompt.text, name if name != models.target else "target", **options)
            ids = trace.meta["prompt_ids"]
            texts.append(([*ids, *trace.token_ids], len(ids)))
        yield Stage(title, k + 1, total)
    texts = [(ids, begin) for ids, begin in texts if len(ids) > begin]
    if not texts:
        raise ValueError(f"the layers of {name}[skip] cannot be found: it wrote no text; name them, as in [skip=1]")
    whole, costs = models.get(name), engine.round_costs(name)
    found = []
    for choice in skips.choices(whole, lambda layers: models.get(variant_name(name, layers)), texts, at, costs):
        found.append(choice)
        yield Stage(title, skips.PROMPTS + len(found), total)
    best = max(found, key=lambda c: c.speedup)
    models.forget({variant_name(name, c.layers) for c in found} - {variant_name(name, best.layers)})
    with suppress(OSError):
        skips.save(identity, best)
    return best
