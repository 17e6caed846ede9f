"""transformers: the settings of ``generate``. It keeps no record; its ``num_matches`` can be converted."""

from collections.abc import Sequence

from hsd_viz.adapters.quantities import Adapter, Vocabulary


def flags(method: str, tokens: int, model: str, by_batch: Sequence[tuple[int, int]]) -> str:
    """Return the call for a drafter with ``tokens`` draft tokens."""
    if method == "plain":
        return "model.generate(...)"
    if method == "lookup":
        return f"model.generate(..., prompt_lookup_num_tokens={tokens})"
    if method == "draft":
        count = f'num_assistant_tokens={tokens}, num_assistant_tokens_schedule="constant"'
        return f"model.generate(..., assistant_model=draft, {count})"
    return ""


ADAPTER = Adapter("transformers", Vocabulary("5.5", {"num_matches": "emitted_less_one"}), "5.5", flags)
