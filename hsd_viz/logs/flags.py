"""The settings to paste for other engines, by kind of drafter, with the version they were checked in.

``{n}`` is the number of draft tokens, ``{m}`` one more. Kinds: ``plain``, ``draft`` (a draft model), ``lookup``
(n-grams of the text) and ``suffix``, for which engines without it get ``lookup``.
"""

from __future__ import annotations

#: Engine -> (version, kind -> settings).
FLAGS: dict[str, tuple[str, dict[str, str]]] = {
    "vllm": (
        "0.32.0",
        {
            "plain": "leave out --speculative-config",
            "draft": '--speculative-config \'{{"method": "draft_model", "model": "DRAFT", '
            '"num_speculative_tokens": {n}}}\'',
            "lookup": '--speculative-config \'{{"method": "ngram", "num_speculative_tokens": {n}, '
            '"prompt_lookup_min": 2, "prompt_lookup_max": 5}}\'',
            "suffix": '--speculative-config \'{{"method": "suffix", "num_speculative_tokens": {n}}}\'',
        },
    ),
    "sglang": (
        "0.5.9",
        {
            "plain": "leave out --speculative-algorithm",
            "draft": "--speculative-algorithm STANDALONE --speculative-draft-model-path DRAFT "
            "--speculative-num-steps {n} --speculative-eagle-topk 1 --speculative-num-draft-tokens {m}",
            "lookup": "--speculative-algorithm NGRAM --speculative-num-draft-tokens {n}",
        },
    ),
    "llama.cpp": (
        "0c1e570",
        {
            "plain": "--spec-type none",
            "draft": "--spec-type draft-simple --spec-draft-model DRAFT.gguf --spec-draft-n-max {n}",
            "lookup": "--spec-type ngram-simple --spec-ngram-simple-size-m {n}",
        },
    ),
    "transformers": (
        "5.5",
        {
            "plain": "model.generate(...)",
            "draft": "model.generate(..., assistant_model=draft, num_assistant_tokens={n}, "
            'num_assistant_tokens_schedule="constant")',
            "lookup": "model.generate(..., prompt_lookup_num_tokens={n})",
        },
    ),
}


def flags(kind: str, tokens: int) -> dict[str, str]:
    """Return the settings of each engine for a kind of drafter with ``tokens`` draft tokens."""
    found = {}
    for engine, (version, kinds) in FLAGS.items():
        text = kinds.get(kind) or kinds["lookup"]
        found[f"{engine} {version}"] = text.format(n=tokens, m=tokens + 1)
    return found
