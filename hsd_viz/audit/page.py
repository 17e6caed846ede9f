"""The report of an audit as one HTML page without scripts or network requests; all text is escaped."""

from collections.abc import Mapping

from hsd_viz import tables
from hsd_viz.audit.exact import ExactAudit
from hsd_viz.audit.faults import FAULTS
from hsd_viz.audit.statistical import StatisticalAudit
from hsd_viz.tables import Table


def page(audits: Mapping[str, ExactAudit | StatisticalAudit]) -> str:
    """Return the page of some audits, by the name of the audited decoder."""
    lines, shown = [], []
    for name, found in audits.items():
        verdict, facts, *more = _exact(found) if isinstance(found, ExactAudit) else _statistical(found)
        lines.append(f"{name}: {verdict}")
        shown += [Table(name, [["", verdict], *([key, str(value)] for key, value in facts)]), *more]
    return tables.page("Audit of losslessness", lines, shown)


def _exact(found: ExactAudit) -> tuple:
    facts: list[tuple] = [
        ("Method", "Exact: the output law by enumeration of all random decisions, over toy models"),
        ("Largest error of a probability", f"{found.error:.1e}"),
        ("Toy instances, outputs, runs", f"{found.instances}, {found.outputs}, {found.runs}"),
    ]
    if found.malformed is not None:
        facts.append(("Malformed output", found.malformed))
    facts += [(f"Fault {fault}", FAULTS[fault]) for fault in found.faults]
    if found.wrong is None:
        return ("lossless" if found.lossless else "not lossless"), facts
    if not found.faults:
        facts.append(("Fault", "none of the six known ones"))
    where = f"after the tokens {list(found.wrong.prefix)}" if found.wrong.prefix else "of the first token"
    pairs = zip(found.wrong.expected, found.wrong.found, strict=True)
    rows = [[str(token), f"{p:.6f}", f"{q:.6f}"] for token, (p, q) in enumerate(pairs)]
    title = f"The first wrong conditional: the law {where}"
    return "not lossless", facts, Table(title, [["token", "target", "decoder"], *rows])


def _statistical(found: StatisticalAudit) -> tuple:
    facts: list[tuple] = [
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
    rows = [["prompt", "token", "without speculation", "with", "gap (nats)", "kind"]]
    for d in found.divergences:
        gap = "-" if d.gap is None else f"{d.gap:.4f}"
        rows.append([d.prompt[:80], str(d.place), repr(d.plain), repr(d.speculative), gap, d.kind])
    return found.verdict, facts, Table("First divergences of greedy texts", rows if found.divergences else [])
