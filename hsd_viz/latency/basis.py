"""Calibrations with their provenance and measured times, from the output of ``hsd-viz plan``.

Calibrations stored on this machine are in :mod:`hsd_viz.latency.stored`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hsd_viz.disk import MAX_JSON, data_folder, parse_json, read_text
from hsd_viz.errors import BadFile, UserError, parsing
from hsd_viz.latency.inputs import Calibration, Edge, Tier
from hsd_viz.latency.traced import MS, names_of, own_times
from hsd_viz.results.estimate import Estimate, estimate_of
from hsd_viz.text import counted
from hsd_viz.trace import Trace
from hsd_viz.trace.tables import observed

#: The draft length for acceptance and cost if no lookahead is specified.
USUAL = 4
#: The family of the shipped models.
SHIPPED = "code"
#: The prefixes of the file names of the project's own plans, by family.
PLANS = {SHIPPED: "plan", "smollm2": "plan-chat"}
#: The JSON field of the measured time of a stack in a plan.
MEASURED = "measured_ms_per_token"


@dataclass(frozen=True, slots=True)
class Basis:
    """A calibration with its provenance.

    Attributes:
        calibration: the calibration.
        source: a description of its provenance.
        measured: the measured times of stacks on the same machine, in ms per emitted token without
            prefill, by stack.
        temperature: the temperature of the decodes; ``None`` if not known.
        prompts: the number of prompts that were decoded; ``None`` if not known.
        measured_on: a description of the prompts of the measured stacks; "" if not known.
    """

    calibration: Calibration
    source: str
    measured: Mapping[str, Estimate] = field(default_factory=dict)
    temperature: float | None = None
    prompts: int | None = None
    measured_on: str = ""

    @property
    def predicted(self) -> str:
        """A sentence about the provenance of a prediction."""
        return f"Predicted by the latency law; calibration {self.source}."


def own_plan(temperature: float, family: str = SHIPPED) -> Any:
    """Return the project's own plan for a family, at the nearest of the temperatures 0, 0.7 and 1.

    Raises:
        UserError: if the project has no plan for the family.
    """
    if family not in PLANS:
        raise UserError(f"no plan of the family '{family}' is shipped: use {', '.join(PLANS)}")
    parts = {"greedy": 0.0, "t07": 0.7, "t1": 1.0}
    nearest = min(parts, key=lambda part: (abs(temperature - parts[part]), part))
    return read_json(data_folder("measured", "docs/bench") / f"{PLANS[family]}-{nearest}-cpu.json")


def own_plan_of(models: Iterable[Mapping[str, Any]], temperature: float) -> Any:
    """Return the project's own plan that measured the weights of all models of a trace.

    Return ``None`` if there is no such plan.
    """
    weights = {model.get("weights") for model in models}
    for family in PLANS:
        plan = own_plan(temperature, family)
        measured = {
            weights_of_model
            for weights_of_model, *_ in plan["calibration"]["identity"]["models"].values()
        }
        if weights and weights <= measured:
            return plan
    return None


def recorded(temperature: float = 0.7, family: str = SHIPPED) -> Basis:
    """Return the basis of the project's own plan (:func:`own_plan`)."""
    return basis_of(own_plan(temperature, family))


def temperature_text(temperature: float) -> str:
    """Return the temperature as text."""
    return f"temperature {temperature:g}" if temperature else "greedy"


def basis_of(plan: Basis | Calibration | Mapping[str, Any] | str | Path, source: str = "") -> Basis:
    """Return the basis of a calibration or a plan.

    Args:
        plan: a calibration; or the report or the stored calibration of ``hsd-viz plan``, or the
            path of one of them.
        source: a description of the provenance; by default that of the plan.

    Raises:
        UserError: if ``plan`` has another form.
    """
    if isinstance(plan, Basis):
        return plan
    if isinstance(plan, Calibration):
        return Basis(plan, source or "as given")
    if isinstance(plan, str | Path):
        data = read_json(plan)
        with parsing(plan):
            return _basis_of_plan(data, source)
    if not isinstance(plan, Mapping):
        raise UserError(
            f"expected a calibration, a plan or the path of its file, not {type(plan).__name__}"
        )
    with parsing("the plan"):
        return _basis_of_plan(plan, source)


def _basis_of_plan(plan: Any, source: str) -> Basis:
    """Return the basis of the JSON data of a plan, after checking its form."""
    if not isinstance(plan, Mapping):
        raise UserError(f"a plan is a JSON object, not {type(plan).__name__}")
    data = plan.get("calibration")
    if not isinstance(data, Mapping) or not {"models", "edges"} <= set(data):
        raise UserError("this is not a plan with its calibration: use a file of 'hsd-viz plan'")
    identity = plan.get("identity") or data.get("identity") or plan.get("machine") or {}
    temperature = (
        (identity.get("sampling") or {}).get("temperature")
        if isinstance(identity, Mapping)
        else None
    )
    created = plan.get("created") or data.get("created")
    day = None if created is None else datetime.fromtimestamp(created, UTC).date().isoformat()
    sampling = None if temperature is None else temperature_text(temperature)
    source = source or f"measured on {place(identity, sampling, day)}"
    texts = plan.get("texts") or data.get("texts") or {}
    return Basis(
        calibration=Calibration.from_dict(data),
        source=source,
        measured=plan_measured(plan),
        temperature=temperature,
        prompts=texts.get("prompts") if isinstance(texts, Mapping) else None,
        measured_on=str(plan.get("measured_on") or ""),
    )


def read_json(path: str | Path) -> Any:
    """Read a JSON file.

    Raises:
        UserError: if it cannot be read.
    """
    path = Path(path).expanduser()
    text = read_text(path, "JSON", MAX_JSON)
    try:
        return parse_json(text, f"the JSON file {path}")
    except BadFile as error:
        raise BadFile(f"{error}: use the output of 'hsd-viz plan --json'") from None


def plan_measured(plan: Mapping[str, Any]) -> dict[str, Estimate]:
    """Return the measured times of the JSON data of a plan in ms per emitted token, by stack."""
    prompts = prompts_of(plan.get("measured_on"))
    measured = {}
    for row in plan.get("hierarchies", ()):
        if row.get(MEASURED) is None:
            continue
        time = estimate_of(row, MEASURED, prompts)
        measured[str(row["stack"])] = replace(time, value=float(row[MEASURED]))
    return measured


def prompts_of(measured_on: object) -> int | None:
    """Return the number in the description of the measured prompts; ``None`` without one."""
    number = re.match(r"\d+", str(measured_on or ""))
    return None if number is None else int(number[0])


def place(machine: Mapping[str, Any] | str, *facts: str | None) -> str:
    """Return a description of a machine with dtype, threads and further facts.

    ``machine`` is the meta of a trace, the data of a plan, or the description itself.
    """
    if isinstance(machine, str):
        return machine
    gpu = machine.get("gpu")
    names = (gpu, machine.get("cpu"), machine.get("device_name"), machine.get("device"))
    name = next(filter(None, names), "an unknown machine")
    on_cpu = not gpu and machine.get("device", "cpu") == "cpu"
    threads = None
    if on_cpu and machine.get("threads"):
        threads = counted(machine["threads"], "thread")
    parts = (name, machine.get("dtype"), threads, *facts)
    return ", ".join(str(part) for part in parts if part)


def machine_text(trace: Trace) -> str:
    """Return a description of a trace's machine, runtime and day of recording."""
    runtime = trace.meta.get("runtime")
    created = trace.meta.get("created")
    return place(trace.meta, runtime and f"{runtime} runtime", created and str(created)[:10])


@dataclass(frozen=True, slots=True)
class LevelUse:
    """The use of a level in a trace, per emitted token.

    Attributes:
        name: the name of the level.
        forwards: the number of forward passes; for a database, the number of look-ups.
        ms: the time of the level in ms, including its rounds.
        calls: the time of its calls in ms.
    """

    name: str
    forwards: float
    ms: float
    calls: float


def level_use(trace: Trace) -> tuple[LevelUse, ...]:
    """Return the forward passes and the time per emitted token of each level, lowest first.

    The times sum to that of the decode without prefill. The time of a level is that of its forward
    passes and, for a verifier, that of its rounds without the calls of levels below.
    """
    tokens = len(trace)
    if not tokens:
        return ()
    names, _ = names_of(trace)
    exclusive_ns = own_times(trace)
    ns_by_level = Counter[int]()
    forwards_by_level = Counter[int]()
    call_ns_by_level = Counter[int]()
    for r in trace.round_rows:
        ns_by_level[r.level] += exclusive_ns[r.id]
    for c in trace.call_rows:
        forwards_by_level[c.level] += c.steps * (c.kind in ("verify", "draft", "lookup"))
        call_ns_by_level[c.level] += c.duration_ns * (c.kind != "prefill")
        ns_by_level[c.level] += c.duration_ns * (c.round in exclusive_ns)
    rounds = sum(observed(r.duration_ns) for r in trace.round_rows if r.parent is None)
    ns_by_level[max(names)] += trace.meta["wall_ns"] - trace.meta["prefill_ns"] - rounds
    levels = []
    for level in sorted(names):
        levels.append(
            LevelUse(
                name=names[level],
                forwards=forwards_by_level[level] / tokens,
                ms=ns_by_level[level] * MS / tokens,
                calls=call_ns_by_level[level] * MS / tokens,
            )
        )
    return tuple(levels)


def rate(edge: Edge, lookahead: int = USUAL) -> float:
    """Return the conditional acceptance (accepted / examined) of drafts of ``lookahead`` tokens,
    from a measured curve.
    """
    curve = edge.curve(lookahead)
    return sum(curve[1:]) / sum(curve[:-1])


def tier_rate(tier: Tier) -> float:
    """Return the conditional acceptance (accepted / examined) of a database's drafts."""
    examined = sum(chance * (a + (a < m)) for m, a, chance in tier.outcomes)
    return (tier.tokens - 1) / examined if examined else 0.0
