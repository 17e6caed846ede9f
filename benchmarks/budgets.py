"""Count the mean acceptance length of drafters at equal budgets of draft tokens.

    python -m benchmarks.budgets [--prompts 48] [--tokens 96] [--json docs/bench/budgets.json]
    python -m benchmarks.budgets --family smollm2 --suite PATH --prompts 36 --json
    docs/bench/budgets-smollm2.json

The targets write each text once, at temperatures 0, 0.7 and 1. Then the rounds of every drafter
over these texts are counted, cost stopping off, with at most 4 to 64 draft tokens per round, cold
and, for drafters that keep state, warm. Drafters that depend on the text only are replayed
(:mod:`~hsd_viz.measure.replay.text_replay`), the others decode. The counts do not depend on the
machine. The rows of ``db`` include the acceptance by database and key length, the basis of its
scores. A chat model answers the first turn of each question, with its chat template.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.harness import arguments, command, cpu_engine, prompts_of, write
from hsd_viz.drafting import Memory
from hsd_viz.drafting.make import remembers
from hsd_viz.errors import UserError
from hsd_viz.measure.bench.report import LOW_REPETITION
from hsd_viz.measure.replay.text_replay import Replayed, Text, can_replay, replay_text
from hsd_viz.prompts.suites import Suite
from hsd_viz.results.bootstrap import estimate, ratio, resample
from hsd_viz.stack import parse
from hsd_viz.terminal import Status, ignore_status, print_line
from hsd_viz.trace.metrics import repetition_share

if TYPE_CHECKING:
    from hsd_viz.engine import Engine

FORMAT = "hsd_viz budgets"
SCHEMA = 1
TEMPERATURES = (0.0, 0.7, 1.0)
BUDGETS = (4, 8, 16, 32, 64)
#: By family the targets that write, and whether they are chat models.
TARGETS = {"code": ("target", "small"), "smollm2": ("target",)}
CHAT = {"smollm2"}
#: The largest budget of a family: a pass over a larger tree takes many times as long on a CPU.
MAX_FAMILY_BUDGET = {"code": 64, "smollm2": 8}
#: Drafters that are left out of a family: they decode, as they cannot be replayed, which takes long
#: there.
LEFT_OUT = {"code": (), "smollm2": ("db[context,model,statistics,logits]", "db[context,logits]")}
#: ``db``, its parts, and what it is compared with.
BOTTOMS = (
    "db",
    "db[context,model,statistics,logits]",
    "db[context,semantic,model,statistics]",
    "db[context]",
    "db[semantic]",
    "db[context,semantic]",
    "db[context,logits]",
    "hd",
    "lookup",
    "lookup[original]",
    "sam",
    "suffix",
    "recycling",
    "retrieval",
    "ngram-cache",
)
SEED = 0


def write_texts(
    engine: Engine, suite: Suite, temperature: float, tokens: int, chat: bool = False
) -> list[Text]:
    """Return the outputs of the engine's target; with ``chat`` it answers in its chat template."""
    texts = []
    for prompt in suite.prompts:
        prompt_tokens: Any = prompt.text
        if not chat:
            prompt_tokens = engine.tokenizer(prompt.text, add_special_tokens=False)["input_ids"]
        trace = engine.run(
            prompt_tokens,
            "target",
            max_new_tokens=tokens,
            temperature=temperature,
            seed=SEED,
            record=False,
            chat=chat,
        )
        prompt_ids = tuple(trace.meta["prompt_ids"])
        texts.append(Text(prompt.category, prompt_ids, tuple(trace.token_ids)))
    return texts


def run_budgets(
    engine: Engine,
    texts: Sequence[Text],
    bottoms: Iterable[str] = BOTTOMS,
    budgets: Iterable[int] = BUDGETS,
    *,
    temperature: float,
    tokens: int,
    progress: Status = ignore_status,
) -> list[dict[str, Any]]:
    """Return a row per drafter, budget and state over ``texts``, which the engine's target wrote
    at ``temperature``.
    """
    rows = []
    for budget in budgets:
        for bottom in bottoms:
            for state in (
                ("cold", "warm") if remembers(parse(f"{bottom} > target").bottom) else ("cold",)
            ):
                progress(f"temperature {temperature:g}, {budget} draft tokens: {bottom} {state}")
                replays = _over_all(
                    engine, texts, bottom, budget, state == "warm", temperature, tokens
                )
                row = {
                    "temperature": temperature,
                    "drafter": bottom,
                    "state": state,
                    "budget": budget,
                }
                row |= _figures(texts, replays)
                rows.append(row | {"by_source": _by_source(replays)} if bottom == "db" else row)
    return rows


def _over_all(
    engine: Engine,
    texts: Sequence[Text],
    bottom: str,
    budget: int,
    warm: bool,
    temperature: float,
    tokens: int,
) -> list[Replayed]:
    memory = Memory()
    replays = []
    for text in texts:
        memory = memory if warm else Memory()
        drafter, eos = engine.drafter(f"{bottom} > target", memory=memory, temperature=temperature)
        if can_replay(drafter):
            replays.append(replay_text(drafter, text, budget, eos, tokens))
            continue
        trace = engine.run(
            list(text.prompt),
            f"{bottom} > target",
            max_new_tokens=tokens,
            temperature=temperature,
            seed=SEED,
            budget=budget,
            memory=memory,
            record=False,
        )
        if tuple(trace.token_ids) != text.output:
            raise AssertionError(f"'{bottom}' did not write the text of the target alone")
        figures = trace.metrics()
        replays.append(Replayed(figures["tokens"], figures["target_forwards"], figures["drafted"]))
    return replays


def _figures(texts: Sequence[Text], replays: Sequence[Replayed]) -> dict[str, Any]:
    """Return sums over the texts, over those with low repetition, and by category."""
    by_category: dict[str, list[Replayed]] = {}
    low = []
    for text, replayed in zip(texts, replays, strict=True):
        by_category.setdefault(text.category, []).append(replayed)
        if repetition_share(text.output) < LOW_REPETITION:
            low.append(replayed)
    return {
        **_length(replays),
        "low_repetition": _length(low) if low else None,
        "by_category": {name: _length(group) for name, group in by_category.items()},
    }


def _by_source(replays: Sequence[Replayed]) -> list[dict[str, Any]]:
    """Return the acceptance by source and key length."""
    total = Replayed()
    for replayed in replays:
        total.add(replayed)
    rows = []
    for (source, length), examined in sorted(total.examined.items()):
        row = {
            "source": source,
            "key_length": length,
            "examined": examined,
            "accepted": total.accepted[source, length],
        }
        rows.append(row)
    return rows


def _length(replays: Sequence[Replayed]) -> dict[str, Any]:
    """Return the sums over texts, and their ratio with its interval over texts."""
    tokens = np.array([replayed.tokens for replayed in replays])
    rounds = np.array([replayed.rounds for replayed in replays])
    weights = resample(len(replays))
    length = estimate(ratio(weights @ tokens, weights @ rounds), len(replays))
    return {
        "tokens": int(tokens.sum()),
        "target_forwards": int(rounds.sum()),
        "drafted": sum(replayed.drafted for replayed in replays),
        **length.named("mean_acceptance_length"),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the rows, and with ``--json`` write the report."""

    def work(options) -> None:
        family = options.family
        if family not in TARGETS:
            raise UserError(f"unknown family '{family}': expected {' or '.join(TARGETS)}")
        chat = family in CHAT
        suite = prompts_of(options.suite, options.prompts, chat=chat)
        budgets = [budget for budget in BUDGETS if budget <= MAX_FAMILY_BUDGET[family]]
        bottoms = [bottom for bottom in BOTTOMS if bottom not in LEFT_OUT[family]]
        rows = []
        for target in TARGETS[family]:
            engine = cpu_engine(target, family)
            for temperature in TEMPERATURES:
                texts = write_texts(engine, suite, temperature, options.tokens, chat)
                engine_rows = run_budgets(
                    engine,
                    texts,
                    bottoms,
                    budgets,
                    temperature=temperature,
                    tokens=options.tokens,
                    progress=print_line,
                )
                for row in engine_rows:
                    low = (row["low_repetition"] or {}).get("mean_acceptance_length", float("nan"))
                    how = f"{target:<8}{temperature:<4g}{row['budget']:>3}"
                    what = f"{row['drafter']:<38}{row['state']:<6}"
                    print(
                        f"{how}  {what}{row['mean_acceptance_length']:>6.2f}{low:>6.2f}", flush=True
                    )
                for row in engine_rows:
                    rows.append({"target": target, **row})
        suite_facts = {"name": suite.name, "prompts": len(suite.prompts)}
        settings = {"max_new_tokens": options.tokens, "seed": SEED, "family": family}
        settings |= {"temperatures": list(TEMPERATURES), "budgets": budgets}
        data = {
            "format": FORMAT,
            "schema": SCHEMA,
            "suite": suite_facts,
            "settings": settings,
            "rows": rows,
        }
        write(options.json, data, "rows")

    parser = arguments("budgets", __doc__, family="code", suite="python", prompts=48, tokens=96)
    return command(parser, argv, work)


if __name__ == "__main__":
    sys.exit(main())
