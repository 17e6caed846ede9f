"""transformers: the settings of ``generate``. It keeps no record; its ``num_matches`` can be converted."""

from collections.abc import Iterator, Mapping, Sequence

from hsd_viz.adapters.quantities import Vocabulary
from hsd_viz.trace import Trace

NAME, FLAGS_VERSION = "transformers", "5.5"
WORDS = Vocabulary("5.5", {"num_matches": "emitted_less_one"})


def read(_response: Mapping) -> Trace | None:
    """Return ``None``: there are no records."""
    return None


def read_text(_text: str) -> Iterator[Trace]:
    """Yield nothing: there are no records."""
    yield from ()


def flags(method: str, tokens: int, model: str = "DRAFT", by_batch: Sequence[tuple[int, int]] = ()) -> str:
    """Return the call for a drafter with ``tokens`` draft tokens ("": there is none of this kind)."""
    if method == "plain":
        return "model.generate(...)"
    if method == "lookup":
        return f"model.generate(..., prompt_lookup_num_tokens={tokens})"
    if method == "draft":
        return (
            f"model.generate(..., assistant_model=draft, num_assistant_tokens={tokens}, "
            'num_assistant_tokens_schedule="constant")'
        )
    return ""
