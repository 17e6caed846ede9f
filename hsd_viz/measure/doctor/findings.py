"""Findings of the doctor: signs of misconfiguration in a record.

Each sign is declared above the function that detects it, with its thresholds, public threads that
describe the case, and what to check. A finding adds the evidence and a confidence (``high`` or
``medium``). Since a false finding is worse than none, each sign requires enough rounds or requests,
and few signs apply to n-gram drafters, whose acceptance can have any value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hsd_viz.measure.doctor.observation import Observation
from hsd_viz.measure.doctor.request_findings import (
    FALLS_WITH_CACHED_PREFIXES,
    FALLS_WITH_CONTEXT,
    request_findings,
)
from hsd_viz.measure.doctor.signs import Finding, Sign
from hsd_viz.records.changes import Change
from hsd_viz.records.engine_settings import NGRAMS

#: Minimum number of rounds of a record, at which the error of a rate is below 7 points.
MIN_ROUNDS = 50
#: Draft tokens per forward pass below which a drafter counts as drafting rarely.
RARELY = 0.5


def findings(
    seen: Observation, speedup: float | None = None, changes: Sequence[Change] = ()
) -> Iterator[Finding]:
    """Yield the findings of all signs in a record.

    Args:
        seen: the observation. An unknown number of rounds counts as enough.
        speedup: the upper end of the interval of the speed-up; ``None``: not observed on a quiet
            machine.
        changes: the changes of figures within the record.
    """
    yield from _collapse(changes)
    if 0 < seen.total < MIN_ROUNDS:
        return
    yield from _all_accepted(seen)
    if seen.method in NGRAMS:
        return
    yield from _rarely(seen)
    yield from _first_positions(seen)
    yield from request_findings(seen.requests)
    yield from _slow_rounds(seen, speedup)


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


#: Largest remaining share of the acceptance after a collapse; a change of the text leaves more.
COLLAPSED = 0.25


def _collapse(changes: Sequence[Change]) -> Iterator[Finding]:
    for change in changes:
        if change.figure == "acceptance" and change.after <= COLLAPSED * change.before:
            yield Finding(COLLAPSES_IN_TIME, change.words)


EVERYTHING_ACCEPTED = Sign(
    name="everything accepted",
    threads="https://github.com/ggml-org/llama.cpp/issues/3919",
    check=(
        "that the draft model is not the target itself, that the verification is on (no synthetic "
        "or forced acceptance), and that the text is not a repetition"
    ),
)


#: Minimum number of draft tokens for the sign that all are accepted, since texts may repeat.
ALL_ACCEPTED = 100
#: Acceptance rate from which all draft tokens count as accepted, since reports are rounded.
ALL = 0.9995


def _all_accepted(seen: Observation) -> Iterator[Finding]:
    """Detect that all draft tokens are accepted. At T > 0 not even a perfect drafter achieves
    it.
    """
    if not seen.drafted_known:
        return
    drafted = seen.drafted * (seen.total or ALL_ACCEPTED)
    accepted = seen.length - 1
    if drafted < ALL_ACCEPTED or accepted < ALL * seen.drafted:
        return
    if seen.drafted < RARELY:
        return  # the drafter may stop before every uncertain token
    if seen.sampled is False and seen.method in NGRAMS:
        return  # greedy text may repeat itself
    temperature = {True: " at a temperature above 0", False: " of greedy text", None: ""}
    evidence = f"all draft tokens are accepted{temperature[seen.sampled]}"
    confidence = "high" if seen.sampled else "medium"
    yield Finding(EVERYTHING_ACCEPTED, evidence, confidence)


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


#: Acceptance rate from which a drafter could draft more tokens.
ACCEPTED_WELL = 0.6


def _rarely(seen: Observation) -> Iterator[Finding]:
    """Detect few draft tokens per pass of which most are accepted: the drafter stops too early."""
    if not seen.drafted_known or seen.drafted >= RARELY or seen.drafted <= 0:
        return
    rate = (seen.length - 1) / seen.drafted
    if rate < ACCEPTED_WELL:
        return
    if seen.without_draft:
        idle = f"{seen.without_draft:.0%} of the forward passes have no draft"
    else:
        idle = f"{seen.drafted:.2f} draft tokens per forward pass"
    yield Finding(DRAFTS_RARELY, f"{idle}, although {rate:.0%} of the draft tokens are accepted")


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


#: Largest acceptance of the first draft token of an unfit drafter, as of a random one.
UNFIT_FIRST = 0.1
#: Acceptance of the first draft token below which the finding has high confidence.
CERTAINLY_UNFIT_FIRST = 0.05
#: Largest number of tokens per forward pass of an unfit drafter.
UNFIT_LENGTH = 1.12
#: Smallest acceptance of the first draft token of a drafter trained for the target.
FIT_FIRST = 0.4
#: Largest ratio of the acceptance at the second position to that at the first for a drafter whose
#: second token is not computed from its own state.
LOST_SECOND = 0.1


def _first_positions(seen: Observation) -> Iterator[Finding]:
    """Detect that the first token is rarely accepted, or only the first one."""
    rates = seen.rates_by_position() or (list(seen.rates) if seen.varied else [])
    if rates:
        first = rates[0]
    elif seen.rates:
        first = sum(seen.rates)
    elif seen.drafted >= RARELY:
        first = (seen.length - 1) / min(1.0, seen.drafted)
    else:
        return
    # The acceptance of a trained drafter is then as low as that of a random one.
    if first <= UNFIT_FIRST and seen.length <= UNFIT_LENGTH:
        rounds = f"{seen.total} rounds" if seen.total else "the rounds"
        evidence = f"the first draft token is accepted in {first:.1%} of {rounds}"
        confidence = "high" if first < CERTAINLY_UNFIT_FIRST else "medium"
        yield Finding(NOTHING_ACCEPTED, evidence, confidence)
    if len(rates) > 1 and first >= FIT_FIRST and rates[1] <= LOST_SECOND * first:
        evidence = (
            f"position 1 is accepted in {first:.0%} of the rounds, position 2 in {rates[1]:.1%}"
        )
        yield Finding(ONLY_THE_FIRST, evidence)


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


#: Acceptance rate from which drafts should pay.
ACCEPTED = 0.5
#: Speed-up from which a run does not count as slower, since times vary by 3 %.
NOT_SLOWER = 0.97
#: Overhead of a round, in plain decoding steps, from which the host is slow.
SLOW_HOST = 0.5
#: Largest number of draft tokens whose verification at batch size 1 is memory-bound on any GPU.
FEW_TOKENS = 8
#: Additional time of a verification, in plain decoding steps, from which it is not memory-bound: in
#: total, and per draft token.
SLOW_VERIFICATION = 0.75
SLOW_VERIFICATION_PER_TOKEN = 0.15


def _slow_rounds(seen: Observation, speedup: float | None) -> Iterator[Finding]:
    """Detect runs with a high acceptance that are slower nevertheless."""
    tokens = seen.deepest
    if seen.length - 1 < ACCEPTED * tokens or speedup is None or speedup >= NOT_SLOWER:
        return
    parts = seen.parts()
    overhead = parts["overhead"] or 0.0
    if overhead >= SLOW_HOST:
        yield Finding(
            HOST_OVERHEAD,
            f"{seen.length:.1f} tokens per forward pass, yet slower than plain decoding: "
            f"{overhead:.1f} plain decoding steps of a round are spent outside the models",
        )
    extra = parts["verification"] or 0.0
    slow = max(SLOW_VERIFICATION, SLOW_VERIFICATION_PER_TOKEN * tokens)
    if seen.batch == 1 and tokens <= FEW_TOKENS and extra >= slow:
        evidence = (
            f"verifying {tokens} draft tokens at batch size 1 takes {1 + extra:.1f} plain "
            "decoding steps"
        )
        yield Finding(VERIFICATION_NOT_MEMORY_BOUND, evidence, "medium")


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
