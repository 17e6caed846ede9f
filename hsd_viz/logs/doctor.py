"""Why is speculative decoding not faster, and what should be set? One verdict, with the share of each cause.

A round of a draft of g tokens could emit g + 1 tokens in the time of one step of plain decoding: the ideal speed-up.
What is lost of it is a product, so its logarithm is a sum, and each cause has a share of it::

    log((g + 1) / speed-up) = log((g + 1) / tokens per forward pass)         acceptance
                            + log(time of a round / time of a plain step)    drafting, verification, batch, overhead

The second term is divided in proportion to the extra time. In a batch of b requests, a forward pass of m tokens per
request feeds b · m; its cost is taken to grow by the measured slope per token (a straight line), so the part of the
extra time of verification that batch size 1 would not have is the batch's.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import log
from typing import Any

import numpy as np

from hsd_viz.bench.tables import Table, show
from hsd_viz.intervals import Estimate, estimate, ratio, resample
from hsd_viz.latency.affine import MOST
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost, LookupCost, Tier
from hsd_viz.latency.select import Choice, select, sensitivities
from hsd_viz.logs.observe import MOST_BATCH, Observation
from hsd_viz.stack import parse

#: Cause -> the verdict, and what to do.
CAUSES = {
    "acceptance": (
        "the acceptance is low for drafts of this length",
        "use a draft model closer to the target or trained on this traffic, draft fewer tokens, or try databases",
    ),
    "drafting": ("the drafting is too slow", "use a smaller draft model or an n-gram drafter, or draft fewer tokens"),
    "verification": (
        "the verification is expensive: a forward pass of several tokens costs much more than one of a single token",
        "draft fewer tokens, or use a machine or kernel whose forward passes are bound by memory",
    ),
    "batch": (
        "the batch is too large: its forward passes have no room for draft tokens",
        "turn speculation off at this batch size, or draft fewer tokens",
    ),
    "overhead": (
        "the overhead is high: time outside forward passes and drafting",
        "use a compiled runtime or CUDA graphs, and fewer, longer rounds",
    ),
}
#: The least speed-up that is worth naming.
LEAST_GAIN = 1.02
#: Engine -> (version they were checked in, kind of drafter -> settings to paste). ``{n}`` is the number of draft
#: tokens, ``{m}`` one more. Kinds: ``plain``, ``draft`` (a draft model), ``lookup`` (n-grams of the text) and
#: ``suffix``, for which engines without it get ``lookup``.
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


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The verdict on an observation.

    ``shares`` of the causes sum to 1; those not observed are missing. ``doubt`` is the share of resampled verdicts that
    name another cause. ``speedup`` and ``length`` (tokens per forward pass) have intervals over rounds. ``best`` is the
    law's pick with its predicted gain over plain decoding, ``robust`` whether it stays within 2 % if a figure is off;
    ``limit`` the batch from which no draft pays.
    """

    observation: Observation
    verdict: str
    advice: str
    cause: str
    shares: dict[str, float]
    doubt: float | None
    length: Estimate
    speedup: Estimate
    best: str | None = None
    gain: float | None = None
    robust: bool | None = None
    regret: str = ""
    limit: int | None = None
    flags: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON data."""
        seen = self.observation
        pairs = {name: getattr(self, name) for name in ("length", "speedup")}
        keys = ("verdict", "advice", "cause", "shares", "doubt", "best", "gain", "robust", "regret", "limit", "flags")
        return {
            "source": seen.source,
            **{key: getattr(self, key) for key in keys},
            **{name: value.value for name, value in pairs.items()},
            **{f"{name}_ci": value.ends for name, value in pairs.items()},
            "ms": {name: getattr(seen, name) for name in ("step", "verify", "draft", "overhead")},
            "slope": seen.slope,
            "batch": seen.batch,
            "by_position": seen.by_position() if seen.exact else None,
            "not_observed": [name for name, value in seen.extra().items() if value is None],
        }

    def lines(self) -> list[str]:
        """Return the verdict and what follows from it, as lines."""
        unknown = [name for name, value in self.observation.extra().items() if value is None]
        lines = [f"Verdict: {self.verdict}.", f"What to do: {self.advice}."]
        if self.doubt is not None and self.doubt > 0.05:
            lines.append(f"In {self.doubt:.0%} of resampled runs another cause comes first.")
        if unknown:
            lines.append(f"Not observed: {', '.join(unknown)}. The shares are those of the other causes.")
        if self.best is not None and self.gain is not None:
            doubt = "" if self.robust else f" Not certain: {self.regret}."
            lines.append(f"Best by the law: {self.best}, {self.gain:+.0%} over plain decoding.{doubt}")
        if self.observation.slope is not None:
            limit = (
                f"stops paying from batch size {self.limit}" if self.limit else f"still pays at batch size {MOST_BATCH}"
            )
            pays = "pays at no batch size" if self.limit == 1 else limit
            lines.append(f"The drafting of this run {pays} (forward passes modelled as a straight line).")
        return lines

    def tables(self) -> list[Table]:
        """Return shares, times and acceptance by position as tables."""
        seen, extra = self.observation, self.observation.extra()
        rows = [["cause", "share of the loss", "extra time in steps"]]
        for cause in CAUSES:
            share, time = self.shares.get(cause), extra.get(cause)
            cells = ["not observed" if share is None else f"{share:.0%}", "-" if time is None else f"{time:.2f}"]
            rows.append([cause, *cells])
        length, speedup = show(self.length, "{:.2f}"), show(self.speedup, "{:.2f}")
        note = f"tokens per forward pass {length}, drafted {seen.depth:.1f}, speed-up {speedup}"
        tables = [Table("Where the speed-up goes", rows, note)]
        if seen.exact:
            places = seen.by_position()[:8]
            rows = [["position", *(str(k + 1) for k in range(len(places)))]]
            rows += [["accepted", *(f"{taken / drafted:.2f}" if drafted else "-" for taken, drafted in places)]]
            note = "rounds that accepted k or more, of those that drafted k"
            tables.append(Table("Acceptance by position", rows, note))
        return tables

    def settings(self) -> Table:
        """Return the settings to paste as a table; without rows where the times were not observed."""
        rows = [["engine", "settings"], *map(list, self.flags.items())]
        return Table("Settings to paste", rows if self.flags else [])


def diagnose(seen: Observation) -> Diagnosis:
    """Return the diagnosis of an observation."""
    extra = {name: value for name, value in seen.extra().items() if value is not None}
    lengths, drafted = _resampled(seen)
    rounds = sum(seen.rounds.values()) if seen.exact else 1
    round_time = 1 + sum(extra.values())
    shares = [_shares(length, depth, extra) for length, depth in zip(lengths, drafted, strict=True)]
    firsts = Counter(max(found, key=found.__getitem__) for found in shares)
    cause = max(shares[0], key=shares[0].__getitem__)
    observed = seen.step is not None
    speedup = estimate(lengths / round_time, rounds) if observed else Estimate()
    gained = speedup.value is not None and speedup.value >= LEAST_GAIN
    verdict, advice = CAUSES[cause]
    if gained:
        verdict = (
            f"speculation pays: {speedup.value:.2f} times as fast as plain decoding; what limits it most: {verdict}"
        )
    found = Diagnosis(
        observation=seen,
        verdict=f"{verdict} ({shares[0][cause]:.0%} of what is lost)",
        advice=advice,
        cause=cause,
        shares=shares[0],
        doubt=1 - firsts[cause] / len(shares) if seen.exact else None,
        length=estimate(lengths, rounds),
        speedup=speedup,
    )
    return _with_choice(found) if observed else found


def _resampled(seen: Observation) -> tuple[np.ndarray, np.ndarray]:
    """Return tokens per forward pass and mean depth, of the rounds and of their resamples."""
    kinds = list(seen.rounds)
    counts = np.array([seen.rounds[kind] for kind in kinds])
    total = counts.sum()
    # Rounds of a kind are equal: how often each kind is drawn is multinomial.
    draws = np.random.default_rng(0).multinomial(total, counts / total, size=len(resample(2)) - 1)
    weights = np.vstack([counts, draws]).astype(float)
    depth, accepted = (weights @ np.array([kind[k] for kind in kinds], float) for k in (0, 1))
    return ratio(accepted, weights.sum(1)) + 1, ratio(depth, weights.sum(1))


def _shares(length: float, depth: float, extra: Mapping[str, float]) -> dict[str, float]:
    """Return the share of each cause in what is lost of the ideal speed-up."""
    parts = {"acceptance": max(0.0, log((1 + depth) / length))}
    spent = sum(extra.values())
    for name, time in extra.items():
        parts[name] = log(1 + spent) * time / spent if spent else 0.0
    total = sum(parts.values())
    return {name: part / total if total else 0.0 for name, part in parts.items()}


def calibration(seen: Observation) -> Calibration:
    """Return the inputs of the law: measured where the observation has them, else from its means."""
    if seen.calibration is not None:
        return _batched(seen.calibration, seen.batch)
    # The overhead is that of a round with a draft: plain decoding does not have it.
    step, draft, overhead = seen.step or 1.0, seen.draft or 0.0, seen.overhead or 0.0
    target = LevelCost((step, step * (1 + (seen.slope or 0.0))))
    if seen.database:
        tier = Tier.counted((depth, accepted, n) for (depth, accepted), n in seen.rounds.items())
        tiers, lookups = {("lookup", "target"): tier}, {"lookup": LookupCost(draft + overhead)}
        return _batched(Calibration(("target",), {"target": target}, {}, tiers, lookups), seen.batch)
    survival = seen.survival()
    # Beyond the drafts that were seen, acceptance is that of their last place.
    tail = survival[-1] / survival[-2] if len(survival) > 1 and survival[-2] else survival[-1]
    costs = {"draft": LevelCost((draft / seen.depth,), draft_overhead=overhead), "target": target}
    edges = {("draft", "target"): Edge(tuple(survival), tail)}
    return _batched(Calibration(("draft", "target"), costs, edges), seen.batch)


def _batched(found: Calibration, batch: int) -> Calibration:
    """Return the costs of a batch: forward passes of ``batch`` times as many tokens."""
    if batch == 1:
        return found
    cost = found.costs[found.target]
    curve = cost.verifying(len(cost.forward) * batch)
    places = batch * np.arange(1, 2 * MOST)
    beyond = np.maximum(0, places - len(curve) + 1) * (curve[-1] - curve[-2])
    table = curve[np.minimum(places, len(curve) - 1)] + beyond
    return replace(found, costs={**found.costs, found.target: replace(cost, forward=tuple(table.tolist()))})


def _with_choice(found: Diagnosis) -> Diagnosis:
    """Add the best stack by the law, how certain it is, the limit of the batch, and flags."""
    seen = found.observation
    inputs = calibration(seen)
    choice: Choice = select(inputs)
    worst = max(sensitivities(choice, inputs), key=lambda s: s.regret, default=None)
    certain = worst is None or worst.regret < LEAST_GAIN - 1
    picked = parse(choice.picked.stack)
    if picked.drafts and choice.best_single_draft is not None:
        # Other engines have no hierarchies.
        picked = parse(choice.best_single_draft.stack)
    if picked.drafts:
        kind, tokens = "draft", picked.drafts[0].lookahead or 1
    elif picked.bottom is not None:
        kind, tokens = "suffix" if picked.bottom.name == "suffix" else "lookup", max(d for d, _ in seen.rounds)
    else:
        kind, tokens = "plain", 0
    return replace(
        found,
        best=choice.picked.stack,
        gain=choice.picked.gain_over(choice.plain),
        robust=certain,
        regret="" if certain or worst is None else f"if {worst.what}, {worst.picked} is {worst.regret:.0%} faster",
        limit=batch_limit(seen),
        flags=flags(kind, tokens),
    )


def flags(kind: str, tokens: int) -> dict[str, str]:
    """Return the settings of each engine for a kind of drafter with ``tokens`` draft tokens."""
    found = {}
    for engine, (version, kinds) in FLAGS.items():
        text = kinds.get(kind) or kinds["lookup"]
        found[f"{engine} {version}"] = text.format(n=tokens, m=tokens + 1)
    return found


def batch_limit(seen: Observation) -> int | None:
    """Return the smallest batch at which no draft length pays, by the modelled costs; ``None`` up to the largest."""
    if seen.slope is None or seen.step is None:
        return None
    survival = seen.survival()
    per_token, overhead = (seen.draft or 0.0) / seen.depth / seen.step, (seen.overhead or 0.0) / seen.step
    longest = range(1, len(survival) + 1)

    def best(batch: int) -> float:
        plain = 1 + seen.slope * (batch - 1)
        round_of = lambda g: 1 + seen.slope * (batch * (g + 1) - 1) + g * per_token + overhead
        return max((1 + sum(survival[:g])) * plain / round_of(g) for g in longest)

    return next((batch for batch in range(1, MOST_BATCH + 1) if best(batch) <= 1), None)
