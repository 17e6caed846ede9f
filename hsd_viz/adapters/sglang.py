"""SGLang: responses with ``meta_info``."""

import json
from collections.abc import Mapping, Sequence

from hsd_viz.adapters.quantities import Adapter, Vocabulary
from hsd_viz.adapters.record import counts_of, imported
from hsd_viz.trace import Trace

NAME = "sglang"
WORDS = Vocabulary(
    "0.5.9",
    {
        "completion_tokens": "tokens",
        "spec_verify_ct": "verifications",
        "spec_draft_token_num": "drafted",
        "spec_accept_token_num": "accepted",
        "spec_accept_histogram": "histogram",
        "spec_accept_rate": "rate",
        "spec_accept_length": "length_tokens",
    },
)
#: Newer versions renamed two counts.
RENAMED = {"spec_draft_token_num": "spec_proposed_drafts", "spec_accept_token_num": "spec_accepted_drafts"}
ALGORITHMS = {"draft": "STANDALONE", "eagle": "EAGLE", "eagle3": "EAGLE3", "mtp": "EAGLE", "dflash": "DFLASH"}


def read(response: Mapping) -> Trace | None:
    """Return the trace of a response, ``None`` if it is of another form."""
    found = response.get("meta_info")
    if not isinstance(found, Mapping) or "spec_verify_ct" not in found:
        return None
    known = counts_of(WORDS, {old: found[new] for old, new in RENAMED.items() if new in found} | dict(found))
    about = {"context": found.get("prompt_tokens"), "cached": found.get("cached_tokens")}
    return imported(NAME, WORDS.version, known, **about)


def flags(method: str, tokens: int, model: str, by_batch: Sequence[tuple[int, int]]) -> str:
    """Return the arguments for a drafter. A block to verify has the last verified token and the draft tokens."""
    if method == "plain":
        return "leave out --speculative-algorithm"
    if method == "lookup":
        return f"--speculative-algorithm NGRAM --speculative-num-draft-tokens {tokens + 1}"
    if method not in ALGORITHMS:
        return ""
    parts = [f"--speculative-algorithm {ALGORITHMS[method]}"]
    if method != "mtp":
        parts.append(f"--speculative-draft-model-path {model}")
    if method != "dflash":
        parts.append(f"--speculative-num-steps {tokens} --speculative-eagle-topk 1")
    parts.append(f"--speculative-num-draft-tokens {tokens + 1}")
    if method in ("eagle", "eagle3") and len({k for _, k in by_batch}) > 1:
        parts.append(f"--speculative-adaptive --speculative-adaptive-config FILE, FILE: {adaptive_file(by_batch)}")
    return " ".join(parts)


def adaptive_file(by_batch: Sequence[tuple[int, int]]) -> str:
    """Return the adaptive configuration for EAGLE and EAGLE-3: steps by batch size."""
    parts, before = {}, None
    for batch, tokens in sorted(by_batch):
        if tokens != before:
            parts[str(batch)] = {"candidate_steps": [tokens]}
        before = tokens
    return json.dumps(parts)


ADAPTER = Adapter(NAME, WORDS, "0.5.9", flags, read)
