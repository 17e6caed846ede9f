"""Count the mean acceptance length of drafters at equal budgets of draft tokens.

    python -m benchmarks.budgets [--prompts 48] [--tokens 96] [--json docs/bench/budgets.json]

The targets write each text once, at temperatures 0, 0.7 and 1. Then the rounds of every drafter over these texts are
counted, cost stopping off, with at most 4 to 64 draft tokens per round, cold and, for drafters that keep state, warm.
Drafters that depend on the text only are replayed (:mod:`~hsd_viz.measure.text_replay`), the others decode. The counts
do not depend on the machine. The rows of ``db`` include the acceptance by database and key length, the basis of its
scores.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks.harness import arguments, command, cpu_engine, prompts_of, say, write
from hsd_viz.drafting import Memory
from hsd_viz.drafting.make import remembers
from hsd_viz.measure.report import LOW_REPETITION
from hsd_viz.measure.text_replay import Replayed, Text, can_replay, replay
from hsd_viz.prompts.suites import Suite
from hsd_viz.stack import parse
from hsd_viz.trace.metrics import repetition_share

if TYPE_CHECKING:
    from hsd_viz.engine import Engine

FORMAT, SCHEMA = "hsd_viz budgets", 1
TEMPERATURES = (0.0, 0.7, 1.0)
BUDGETS = (4, 8, 16, 32, 64)
TARGETS = ("target", "small")
#: ``db``, its parts, and what it is compared with.
BOTTOMS = (
    "db",
    "db[context,model,statistics,logits]",
    "db[context]",
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


def write_texts(engine: Engine, suite: Suite, temperature: float, tokens: int) -> list[Text]:
    """Return the outputs of the engine's target."""
    texts = []
    for prompt in suite.prompts:
        ids = engine.tokenizer(prompt.text, add_special_tokens=False)["input_ids"]
        trace = engine.run(
            ids, "target", max_new_tokens=tokens, temperature=temperature, seed=SEED, record=False
        )
        texts.append(Text(prompt.category, tuple(ids), tuple(trace.token_ids)))
    return texts


def run_budgets(
    engine: Engine,
    texts: Sequence[Text],
    bottoms: Iterable[str] = BOTTOMS,
    budgets: Iterable[int] = BUDGETS,
    *,
    temperature: float,
    tokens: int,
    progress: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Return a row per drafter, budget and state over ``texts``, which the engine's target wrote at ``temperature``."""
    rows = []
    for budget in budgets:
        for bottom in bottoms:
            for state in (
                ("cold", "warm") if remembers(parse(f"{bottom} > target").bottom) else ("cold",)
            ):
                progress(f"temperature {temperature:g}, {budget} draft tokens: {bottom} {state}")
                found = _over_all(
                    engine, texts, bottom, budget, state == "warm", temperature, tokens
                )
                row = {
                    "temperature": temperature,
                    "drafter": bottom,
                    "state": state,
                    "budget": budget,
                }
                row |= _figures(texts, found)
                rows.append(row | {"by_source": _by_source(found)} if bottom == "db" else row)
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
    memory, found = Memory(), []
    for text in texts:
        memory = memory if warm else Memory()
        drafter, eos = engine.drafter(f"{bottom} > target", memory=memory, temperature=temperature)
        if can_replay(drafter):
            found.append(replay(drafter, text, budget, eos, tokens))
            continue
        options = {"temperature": temperature, "seed": SEED, "budget": budget, "memory": memory}
        trace = engine.run(
            list(text.prompt), f"{bottom} > target", max_new_tokens=tokens, record=False, **options
        )
        if tuple(trace.token_ids) != text.output:
            raise AssertionError(f"'{bottom}' did not write the text of the target alone")
        figures = trace.metrics()
        found.append(Replayed(figures["tokens"], figures["target_forwards"], figures["drafted"]))
    return found


def _figures(texts: Sequence[Text], found: Sequence[Replayed]) -> dict[str, Any]:
    """Return sums over the texts, over those with low repetition, and by category."""
    groups: dict[str, Replayed] = {}
    for text, one in zip(texts, found, strict=True):
        names = ["", f"category {text.category}"]
        if repetition_share(text.output) < LOW_REPETITION:
            names.append("low repetition")
        for name in names:
            groups.setdefault(name, Replayed()).add(one)
    whole = groups.pop("")
    low = groups.pop("low repetition", None)
    return {
        **_length(whole),
        "low_repetition": None if low is None else _length(low),
        "by_category": {
            name.removeprefix("category "): _length(group) for name, group in groups.items()
        },
    }


def _by_source(found: Sequence[Replayed]) -> list[dict[str, Any]]:
    """Return the acceptance by source and key length."""
    whole = Replayed()
    for one in found:
        whole.add(one)
    return [
        {
            "source": source,
            "key_length": length,
            "examined": examined,
            "accepted": whole.accepted[source, length],
        }
        for (source, length), examined in sorted(whole.examined.items())
    ]


def _length(one: Replayed) -> dict[str, Any]:
    return {
        "tokens": one.tokens,
        "target_forwards": one.rounds,
        "drafted": one.drafted,
        "mean_acceptance_length": one.tokens / one.rounds if one.rounds else None,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the rows, and with ``--json`` write the report."""

    def work(options) -> None:
        suite, rows = prompts_of(options.suite, options.prompts), []
        for target in TARGETS:
            engine = cpu_engine(target)
            for temperature in TEMPERATURES:
                texts = write_texts(engine, suite, temperature, options.tokens)
                found = run_budgets(
                    engine, texts, temperature=temperature, tokens=options.tokens, progress=say
                )
                for row in found:
                    low = (row["low_repetition"] or {}).get("mean_acceptance_length", float("nan"))
                    what = f"{target:<8}{temperature:<4g}{row['budget']:>3}  {row['drafter']:<38}{row['state']:<6}"
                    print(f"{what}{row['mean_acceptance_length']:>6.2f}{low:>6.2f}", flush=True)
                rows += [{"target": target, **row} for row in found]
        about = {"name": suite.name, "prompts": len(suite.prompts)}
        settings = {"max_new_tokens": options.tokens, "seed": SEED}
        settings |= {"temperatures": list(TEMPERATURES), "budgets": list(BUDGETS)}
        data = {
            "format": FORMAT,
            "schema": SCHEMA,
            "suite": about,
            "settings": settings,
            "rows": rows,
        }
        write(options.json, data, "rows")

    return command(arguments("budgets", __doc__, suite="python", prompts=48, tokens=96), argv, work)


if __name__ == "__main__":
    sys.exit(main())
