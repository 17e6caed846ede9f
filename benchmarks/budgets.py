"""How many tokens a forward of the target brings with each drafter that needs no training, at equal budgets of draft tokens.

    python -m benchmarks.budgets [--prompts 48] [--tokens 96] [--json docs/bench/budgets.json]

The targets write each text once, greedily and at temperatures 0.7 and 1. Then every drafter has its rounds over these texts counted,
cost stopping off, with at most 4, 8, 16, 32 and 64 draft tokens a round, cold and, where it remembers texts, warm. Drafters that look at
nothing but the text are replayed (:mod:`~hsd_viz.bench.replay`), the others decode. These are counts: they do not depend on the machine.
The share of draft tokens that were right, by database and key length, stands beside them: what the scores of ``db`` rest on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.bench.output import remembers
from hsd_viz.bench.replay import Replayed, Text, can_replay, replay
from hsd_viz.bench.report import LOW_REPETITION
from hsd_viz.disk import write_whole
from hsd_viz.drafting import Memory
from hsd_viz.prompts.suites import Suite, load_suite
from hsd_viz.stack import parse
from hsd_viz.trace.metrics import repetition_share

if TYPE_CHECKING:
    from hsd_viz.engine import Engine

FORMAT, SCHEMA = "hsd_viz budgets", 1
TEMPERATURES = (0.0, 0.7, 1.0)
BUDGETS = (4, 8, 16, 32, 64)
TARGETS = ("target", "small")
#: ``db``, what it is measured against, and what its parts bring.
BOTTOMS = (
    "db",
    "db[context,model,statistics,logits]",
    "db[context]",
    "db[context,logits]",
    "hd",
    "hd[context,model,statistics,window]",
    "lookup",
    "lookup[original]",
    "sam",
    "suffix",
    "recycling",
    "retrieval",
    "ngram-cache",
)
SUITE, PROMPTS, TOKENS, SEED = "python", 48, 96, 0


def write_texts(engine: Engine, suite: Suite, temperature: float, tokens: int) -> list[Text]:
    """What the engine's target writes after each prompt."""
    texts = []
    for prompt in suite.prompts:
        ids = engine.tokenizer(prompt.text, add_special_tokens=False)["input_ids"]
        trace = engine.run(ids, "target", max_new_tokens=tokens, temperature=temperature, seed=SEED, record=False)
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
    """One row for each drafter, budget and state over ``texts``, which the engine's target wrote at ``temperature``."""
    rows = []
    for budget in budgets:
        for bottom in bottoms:
            for state in ("cold", "warm") if remembers(parse(f"{bottom} > target")) else ("cold",):
                progress(f"temperature {temperature:g}, {budget} draft tokens: {bottom} {state}")
                found = _over_all(engine, texts, bottom, budget, state == "warm", temperature, tokens)
                row = {
                    "temperature": temperature,
                    "drafter": bottom,
                    "state": state,
                    "budget": budget,
                    **_figures(texts, found),
                }
                rows.append(row | {"by_source": _by_source(found)} if bottom == "db" else row)
    return rows


def _over_all(
    engine: Engine, texts: Sequence[Text], bottom: str, budget: int, warm: bool, temperature: float, tokens: int
) -> list[Replayed]:
    memory, found = Memory(), []
    for text in texts:
        memory = memory if warm else Memory()
        drafter, eos = engine.drafter(f"{bottom} > target", memory=memory, temperature=temperature)
        if can_replay(drafter):
            found.append(replay(drafter, text, budget, eos, tokens))
            continue
        options = {"temperature": temperature, "seed": SEED, "budget": budget, "memory": memory}
        trace = engine.run(list(text.prompt), f"{bottom} > target", max_new_tokens=tokens, record=False, **options)
        if tuple(trace.token_ids) != text.output:
            raise AssertionError(f"'{bottom}' wrote another text than the target alone")
        figures = trace.metrics()
        found.append(Replayed(figures["tokens"], figures["target_forwards"], figures["drafted"]))
    return found


def _figures(texts: Sequence[Text], found: Sequence[Replayed]) -> dict[str, Any]:
    """Sums over the texts, over those that hardly repeat themselves, and by category."""
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
        "by_category": {name.removeprefix("category "): _length(group) for name, group in groups.items()},
    }


def _by_source(found: Sequence[Replayed]) -> list[dict[str, Any]]:
    """Acceptance by source and key length."""
    whole = Replayed()
    for one in found:
        whole.add(one)
    return [
        {"source": source, "key_length": length, "examined": examined, "accepted": whole.accepted[source, length]}
        for (source, length), examined in sorted(whole.examined.items())
    ]


def _length(one: Replayed) -> dict[str, Any]:
    return {
        "tokens": one.tokens,
        "target_forwards": one.rounds,
        "drafted": one.drafted,
        "mean_acceptance_length": one.tokens / one.rounds if one.rounds else None,
    }


def _lines(data: dict[str, Any]) -> str:
    """The data as JSON with one row a line."""
    head = json.dumps({**data, "rows": []}, indent=1)
    rows = ",\n".join(f"  {json.dumps(row)}" for row in data["rows"])
    return head.replace('"rows": []', f'"rows": [\n{rows}\n ]') + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Count and print; with ``--json`` also write the file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budgets", description=__doc__.split("\n\n")[0])
    parser.add_argument("--suite", default=SUITE, help=f"suite of prompts (default {SUITE})")
    parser.add_argument(
        "--prompts", type=int, default=PROMPTS, help=f"prompts, taken from the categories in turn (default {PROMPTS})"
    )
    parser.add_argument("--tokens", type=int, default=TOKENS, help=f"new tokens each (default {TOKENS})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args(argv)
    if options.tokens < 1:
        parser.error(f"{options.tokens} new tokens is out of range: it is a whole number from 1")
    try:
        suite = load_suite(options.suite).limited(options.prompts)
        if any(p.turns for p in suite.prompts):
            raise ValueError(f"the suite {suite.name} has questions to chat models: take one whose prompts are texts")
    except ValueError as error:
        parser.error(str(error))
    import hsd_viz

    say = lambda text: print(text, file=sys.stderr)
    rows = []
    for target in TARGETS:
        engine = hsd_viz.load_engine(target=target, device="cpu", threads=1)
        engine.wait_ready(say)
        for temperature in TEMPERATURES:
            texts = write_texts(engine, suite, temperature, options.tokens)
            found = run_budgets(
                engine,
                texts,
                temperature=temperature,
                tokens=options.tokens,
                progress=lambda t, name=target: say(f"{name}: {t}"),
            )
            for row in found:
                low = row["low_repetition"]
                print(
                    f"{target:<8}{row['temperature']:<4g}{row['budget']:>3}  {row['drafter']:<38}{row['state']:<6}"
                    f"{row['mean_acceptance_length']:>6.2f}{low['mean_acceptance_length'] if low else float('nan'):>6.2f}",
                    flush=True,
                )
            rows += [{"target": target, **row} for row in found]
    if options.json:
        about = {"name": suite.name, "prompts": len(suite.prompts)}
        settings = {
            "max_new_tokens": options.tokens,
            "seed": SEED,
            "temperatures": list(TEMPERATURES),
            "budgets": list(BUDGETS),
        }
        data = {"format": FORMAT, "schema": SCHEMA, "suite": about, "settings": settings, "rows": rows}
        try:
            write_whole(options.json, _lines(data))
        except OSError as error:
            parser.error(f"{options.json} cannot be written: {error.strerror or error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
