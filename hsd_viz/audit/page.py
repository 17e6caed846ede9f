"""The report of an audit as one HTML page without scripts or network requests; all text is escaped."""

from collections.abc import Mapping

from hsd_viz import tables
from hsd_viz.audit.exact import ExactAudit
from hsd_viz.audit.faults import FAULTS
from hsd_viz.audit.statistical import StatisticalAudit
from hsd_viz.tables import Table


def page(audits: Mapping[str, ExactAudit | StatisticalAudit]) -> str:
    """Return the page of some audits, by the name of the audited decoder."""
    lines, shown = [f"{name}: {audit.verdict}" for name, audit in audits.items()], []
    for name, audit in audits.items():
        facts, *more = _exact(audit) if isinstance(audit, ExactAudit) else _statistical(audit)
        shown += [Table(name, [["", audit.verdict], *([key, str(value)] for key, value in facts)]), *more]
    return tables.page("Audit of losslessness", lines, shown)


def _exact(audit: ExactAudit) -> tuple:
    facts: list[tuple] = [
        ("Method", "Exact: the output law by enumeration of all random decisions, over toy models"),
        ("Largest error of a probability", f"{audit.error:.1e}"),
        ("Toy instances, outputs, runs", f"{audit.instances}, {audit.outputs}, {audit.runs}"),
    ]
    if audit.malformed is not None:
        facts.append(("Malformed output", audit.malformed))
    if audit.wrong is None:
        return (facts,)
    facts += [(f"Fault {fault}", FAULTS[fault]) for fault in audit.faults] or [("Fault", "none of the six known ones")]
    pairs = enumerate(zip(audit.wrong.expected, audit.wrong.found, strict=True))
    rows = [["token", "target", "decoder"], *([str(token), f"{p:.6f}", f"{q:.6f}"] for token, (p, q) in pairs)]
    where = audit.where.replace("after", "after the tokens")
    return facts, Table(f"The first wrong conditional: the law {where}", rows)


def _statistical(audit: StatisticalAudit) -> tuple:
    facts: list[tuple] = [
        ("Method", "Statistical: a sequential test of sampled pairs, and first divergences of greedy texts"),
        ("Sampled pairs", audit.pairs),
        ("Evidence", f"{audit.evidence:.3g} (distributions differ at {1 / audit.alpha:.0f})"),
        ("False alarms", f"at most {audit.alpha:g}, at any number of pairs at which the test stops"),
        ("Greedy texts", f"{audit.greedy_equal} of {audit.prompts} equal"),
    ]
    for share, rate in audit.power.items():
        name = f"Power if wrong in {share:.0%} of outputs" if share else "Simulated false alarms"
        facts.append((name, f"{rate:.0%}"))
    rows = [["prompt", "token", "without speculation", "with", "gap (nats)", "kind"]]
    for d in audit.divergences:
        gap = "-" if d.gap is None else f"{d.gap:.4f}"
        rows.append([d.prompt[:80], str(d.place), repr(d.plain), repr(d.speculative), gap, d.kind])
    return facts, Table("First divergences of greedy texts", rows if audit.divergences else [])
