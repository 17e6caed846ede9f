"""The report of an audit as one HTML page without scripts or network requests; all text is escaped."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hsd_viz.audit.exact import ExactAudit
from hsd_viz.audit.faults import FAULTS
from hsd_viz.audit.statistical import StatisticalAudit

_TEMPLATE = Path(__file__).with_name("page.html")


def page(audits: Mapping[str, ExactAudit | StatisticalAudit]) -> str:
    """Return the page of some audits, by the name of the audited decoder."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined)
    sections = [
        (name, *(_exact(found) if isinstance(found, ExactAudit) else _statistical(found)))
        for name, found in audits.items()
    ]
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        title="Audit of losslessness", sections=sections
    )


def _exact(found: ExactAudit) -> tuple[str, list[tuple[str, Any]], tuple[str, list] | None]:
    facts: list[tuple[str, Any]] = [
        ("Method", "Exact: the output law by enumeration of all random decisions, over toy models"),
        ("Largest error of a probability", f"{found.error:.1e}"),
        ("Toy instances, outputs, runs", f"{found.instances}, {found.outputs}, {found.runs}"),
    ]
    if found.malformed is not None:
        facts.append(("Malformed output", found.malformed))
    facts += [(f"Fault {fault}", FAULTS[fault]) for fault in found.faults]
    if found.wrong is None:
        return ("lossless" if found.lossless else "not lossless"), facts, None
    if not found.faults:
        facts.append(("Fault", "none of the six known ones"))
    where = f"after the tokens {list(found.wrong.prefix)}" if found.wrong.prefix else "of the first token"
    rows = [("token", "target", "decoder")]
    pairs = zip(found.wrong.expected, found.wrong.found, strict=True)
    rows += [(str(token), f"{p:.6f}", f"{q:.6f}") for token, (p, q) in enumerate(pairs)]
    return "not lossless", facts, (f"The first wrong conditional: the law {where}", rows)


def _statistical(found: StatisticalAudit) -> tuple[str, list[tuple[str, Any]], tuple[str, list] | None]:
    facts: list[tuple[str, Any]] = [
        ("Method", "Statistical: a sequential test of sampled pairs, and first divergences of greedy texts"),
        ("Sampled pairs", found.pairs),
        ("Evidence", f"{found.evidence:.3g} (distributions differ at {1 / found.alpha:.0f})"),
        ("False alarms", f"at most {found.alpha:g}, at any number of pairs at which the test stops"),
        ("Greedy texts", f"{found.greedy_equal} of {found.prompts} equal"),
    ]
    for share, rate in found.power.items():
        facts.append(
            (f"Power if wrong in {share:.0%} of outputs" if share else "Simulated false alarms", f"{rate:.0%}")
        )
    if found.difference is not None and found.differs:
        (_, before), token, a, b = found.difference
        text = f"{token!r} after {''.join(before)!r}: {a:.3f} with speculation, {b:.3f} without"
        facts.append(("Largest difference", text))
    rows: list[tuple[str, ...]] = [("prompt", "token", "without speculation", "with", "gap (nats)", "kind")]
    for d in found.divergences:
        gap = "-" if d.gap is None else f"{d.gap:.4f}"
        rows.append((d.prompt[:80], str(d.place), repr(d.plain), repr(d.speculative), gap, d.kind))
    return found.verdict, facts, ("First divergences of greedy texts", rows) if found.divergences else None
