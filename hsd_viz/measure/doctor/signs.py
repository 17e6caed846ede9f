"""The signs of misconfiguration that the doctor knows, each with public threads that describe the
case, and what to check. What detects them is :mod:`hsd_viz.measure.doctor.findings`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign of misconfiguration.

    Attributes:
        name: the name of the sign.
        threads: addresses of public threads that describe the case.
        check: what to check, as the rest of "Check ...".
    """

    name: str
    threads: str
    check: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A sign detected in a record.

    Attributes:
        sign: the sign.
        evidence: the figures of the record.
        confidence: ``high`` or ``medium``.
    """

    sign: Sign
    evidence: str
    confidence: str = "high"

    @property
    def words(self) -> str:
        """The finding in one line."""
        return (
            f"Possible misconfiguration ({self.confidence} confidence): {self.evidence}. "
            f"Check {self.sign.check}. See {self.sign.threads}"
        )

    def to_dict(self) -> dict[str, str]:
        """Return the finding as JSON data."""
        return {
            "rule": self.sign.name,
            "evidence": self.evidence,
            "confidence": self.confidence,
            "thread": self.sign.threads,
            "check": self.sign.check,
        }


NOTHING_ACCEPTED = Sign(
    name="nothing accepted",
    threads=(
        "https://github.com/vllm-project/vllm/pull/43671, "
        "https://github.com/ggml-org/llama.cpp/issues/25792"
    ),
    check=(
        "that the drafter was made for exactly this target (weights, quantization, vocabulary), "
        "that the method has the right name (EAGLE is not EAGLE-3), and which layers' hidden "
        "states it is given"
    ),
)
ONLY_THE_FIRST = Sign(
    name="only the first",
    threads="https://github.com/vllm-project/vllm-ascend/pull/3770",
    check=(
        "how many tokens the drafter was trained for, and whether its own hidden state is fed "
        "back after the first; until then set 1 draft token"
    ),
)
EVERYTHING_ACCEPTED = Sign(
    name="everything accepted",
    threads="https://github.com/ggml-org/llama.cpp/issues/3919",
    check=(
        "that the draft model is not the target itself, that the verification is on (no synthetic "
        "or forced acceptance), and that the text is not a repetition"
    ),
)
DRAFTS_RARELY = Sign(
    name="drafts rarely",
    threads=(
        "https://github.com/ggml-org/llama.cpp/issues/24508, "
        "https://github.com/ikawrakow/ik_llama.cpp/issues/1595"
    ),
    check=(
        "the thresholds that stop a draft: lower p-min (--draft-p-min, --spec-draft-p-min) and "
        "n-min, raise n-max"
    ),
)
COLLAPSES_IN_TIME = Sign(
    name="collapses in time",
    threads=(
        "https://github.com/vllm-project/vllm/issues/58080, "
        "https://github.com/vllm-project/vllm/issues/57941"
    ),
    check=(
        "the drafter's longest position (max_model_len of the draft) against the length of the "
        "sequences at that time, then the number of draft tokens and what was changed there"
    ),
)
FALLS_WITH_CONTEXT = Sign(
    name="falls with context",
    threads=(
        "https://github.com/vllm-project/vllm/issues/47602, "
        "https://github.com/sgl-project/sglang/issues/30763"
    ),
    check=(
        "the drafter's longest position, its rope scaling and its attention window against the "
        "target's"
    ),
)
FALLS_WITH_CACHED_PREFIXES = Sign(
    name="falls with cached prefixes",
    threads=(
        "https://github.com/vllm-project/vllm/issues/47930, "
        "https://github.com/vllm-project/vllm/issues/54360"
    ),
    check=(
        "the same requests with prefix caching off: the drafter may lack the cached tokens' states"
    ),
)
HOST_OVERHEAD = Sign(
    name="host overhead",
    threads=(
        "https://github.com/vllm-project/vllm/issues/39680, "
        "https://github.com/vllm-project/vllm/issues/47277"
    ),
    check=(
        "that CUDA graphs cover drafting and verification (no eager mode), and the CPU time of "
        "scheduling and sampling"
    ),
)
VERIFICATION_NOT_MEMORY_BOUND = Sign(
    name="verification not memory-bound",
    threads="https://github.com/vllm-project/vllm/issues/46295",
    check=(
        "a mixture of experts (each token reads further experts), and that the attention and "
        "matrix kernels of several tokens are those of one"
    ),
)
#: All signs.
SIGNS = (
    NOTHING_ACCEPTED,
    ONLY_THE_FIRST,
    EVERYTHING_ACCEPTED,
    DRAFTS_RARELY,
    COLLAPSES_IN_TIME,
    FALLS_WITH_CONTEXT,
    FALLS_WITH_CACHED_PREFIXES,
    HOST_OVERHEAD,
    VERIFICATION_NOT_MEMORY_BOUND,
)
