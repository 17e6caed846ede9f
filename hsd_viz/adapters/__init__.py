"""Other engines: their records and metrics, their settings, and what misconfiguration looks like. Imports no torch.

One module per engine with its :class:`~hsd_viz.adapters.quantities.Adapter`. ``read`` imports any record,
``vocabulary`` converts metrics, and ``signatures`` has the misconfigurations.
"""

from collections.abc import Sequence

from hsd_viz.adapters import llama_cpp, sglang, tensorrt_llm, transformers, vllm
from hsd_viz.adapters.quantities import Adapter
from hsd_viz.words import did_you_mean

ENGINES: tuple[Adapter, ...] = tuple(one.ADAPTER for one in (vllm, sglang, llama_cpp, tensorrt_llm, transformers))
#: Drafters of serving engines.
METHODS = ("draft", "eagle", "eagle3", "mtp", "dflash", "medusa", "lookup", "suffix")
_SAME = {"ngram": "lookup", "draft_model": "draft", "draft-model": "draft", "nextn": "mtp", "prompt-lookup": "lookup"}


def method_of(name: str) -> str:
    """Return a drafter by any of its names. Raises: ValueError: if it is unknown."""
    plain = name.lower().replace("eagle-3", "eagle3").replace("n-gram", "ngram")
    found = _SAME.get(plain, plain)
    if found not in METHODS:
        raise ValueError(f"the drafter '{name}' is unknown: use {', '.join(METHODS)}{did_you_mean(plain, METHODS)}")
    return found


def settings(
    method: str, tokens: int, model: str = "DRAFT", by_batch: Sequence[tuple[int, int]] = ()
) -> dict[str, str]:
    """Return the settings of each engine that has the drafter ``method`` (``plain``: none) with ``tokens`` draft
    tokens, by engine and the version in whose documentation they were checked. ``by_batch``: (batch size, the draft
    tokens from it on) for engines that change them with the batch.
    """
    found = {f"{one.name} {one.flags_version}": one.flags(method, tokens, model, by_batch) for one in ENGINES}
    return {engine: text for engine, text in found.items() if text}
