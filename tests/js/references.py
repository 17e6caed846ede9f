"""What the tests of the page compare it with: runs, metrics, states of views, stacks, verdicts and
speeds, as Python has them.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import hsd_viz as hsd
from hsd_viz.decoding import verify
from hsd_viz.decoding.sampling import draw
from hsd_viz.engine.recordings import GAMES, SIDE_BY_SIDE, load_bundled
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.law import predict
from hsd_viz.results.drafter_names import stack_name
from hsd_viz.stack import StackError, parse
from hsd_viz.views import run_data
from hsd_viz.views.page_data import about, offered, recorded_runs
from tests.views.make_trace import make_trace

#: Traits that a host sets.
HOSTED = ("bundle", "layout", "tabbable", "tooltip", "comm")


def own_state(view) -> dict:
    """The synchronized traits of a view but for those of its host."""
    state = {}
    for name, value in view.get_state().items():
        if not name.startswith("_") and name not in HOSTED:
            state[name] = value
    return state


def states() -> dict[str, list[dict]]:
    """The synchronized traits of every public view, linked where they can be, by the name of its
    script.
    """
    trace = load_bundled("both")
    basis = hsd.views.recorded()
    stream = hsd.views.TokenStream(trace)
    linked = ("LocalityMap", "Panels", "RoundInspector", "Staircase", "Timeline")
    made = [stream, *(getattr(hsd.views, name)(group=stream.group) for name in linked)]
    made += [hsd.views.HierarchyGraph(basis), hsd.views.OneDraftWhatIf(basis), hsd.views.RuleLab()]
    made.append(hsd.views.Chart(hsd.figures.acceptance(trace)))
    made.append(
        hsd.views.Versus(
            [load_bundled(name, SIDE_BY_SIDE / "greedy") for name in ("plain", "databases")]
        )
    )
    made.append(hsd.views.DraftGame(load_bundled("plain", GAMES / "days")))
    states_by_view = {view.view: [own_state(view)] for view in made}
    assert len(states_by_view) == len(made)
    return states_by_view


def games() -> list[dict]:
    """The texts of the game, with their recorded runs in place of the runs' names."""
    runs = recorded_runs()
    played = []
    for game in about()["games"]:
        shown = {}
        for player, name in game["runs"].items():
            shown[player] = run_data.snapshot(runs[name](), name)
        played.append(game | {"runs": shown})
    return played


#: Texts that are stacks and that are not, between bars.
STACKS = """
target | db>nano:4 > target | db[ context ]>nano:auto > target | hd[model,context] > target |
auto > target | auto[db,nano] > target | lookup[original] > target | a/b:3 > ./my model |
"my model":2 > target | x > y > z |  | > | db | db > | > target | target:4 | nano:0 > target |
nano:65 > target | nano > db > target | db[] > target | db[x] > target |
db[context,context] > target | nano > nano > target | auto > nano > target | db:4 > target |
nano" > target | sam[x] > target | auto[target] > target | nano:x > target | a b > target |
nano:8?0.4 > target | nano ? .25 > small:auto?0.5 > target | nano:8?1 > target | nano?x > target |
target?0.4 | db?0.4 > target | auto[nano?0.4] > target | "./a?0.4":2?0.001 > target |
./a?b > target | nano?0.4:8 > target | target[int8]:6 > target |
nano>target[ bfloat16 ]?0.5 > target | "./a b" [float32] > target | auto[db,x[int8]] > target |
target[int4] > target | nano > target[int8] | x[int8] > x[int8] > target | "./a[int8]" > target |
target[int8 > target | target[int8]] > target | auto[x[int8]:2] > target | nano:2[int8] > target |
db[int8] > target | target[] > x""".split("|")


def stack_names() -> dict[str, str]:
    """The names of the page's stacks and of some others, by stack."""
    stacks = [*about()["stacks"], *about()["sides"].values()]
    for race in about()["races"]:
        stacks += [run["stack"] for run in race["runs"]]
    stacks += [row["stack"] for row in about()["suites"] if ">" in row["stack"]]
    stacks += ["suffix > target", "db[context,model] > nano:4?0.8 > target"]
    stacks += ['"./a b":2 > target', "hd[model] > target", "nano > target[int8]:4 > target"]
    return {stack: stack_name(stack) for stack in stacks}


def printed(text: str) -> str | None:
    try:
        return str(parse(text))
    except StackError:
        return None


def verdicts() -> list[dict]:
    """Verdicts of the rules in Python, on chains whose rows are the same at every place, as those
    of the rule lab.
    """
    source = np.random.default_rng(5)
    cases = []
    for k in range(120):
        n = 1 + k % 3
        p, q = (row / row.sum() for row in source.random((2, 4)) ** 2 + 0.01)
        draft = source.choice(4, size=n, p=q).tolist()
        u = source.random(n).tolist()
        r = source.random(n + 1).tolist()
        rule = list(verify.RULES)[k // 3 % 3]
        rows = np.tile(p, (n + 1, 1))
        verdict = verify.RULES[rule](draft, np.tile(q, (n, 1)), rows, u)
        after = p if verdict.residual is None else verdict.residual
        cases.append(
            {
                "rule": rule,
                "p": p.tolist(),
                "q": q.tolist(),
                "draft": draft,
                "u": u,
                "r": r,
                "accepted": verdict.accepted,
                "token": draw(after, r[verdict.accepted]),
                "h": verdict.h and [verdict.h[place] for place in verdict.compared],
            }
        )
    return cases


def one_draft_speeds() -> list[dict]:
    """Speeds over plain decoding by the law in Python, of one draft model whose tokens are accepted
    independently; costs are in forward passes of the target.
    """
    cases = []
    for acceptance, cost, slope in product((0.0, 0.5, 0.85, 1.0), (0.0, 0.15), (0.0, 0.02)):
        calibration = Calibration(
            ("d", "target"),
            {"d": LevelCost((cost,)), "target": LevelCost((1.0, 1.0 + slope))},
            {("d", "target"): Edge(tail=acceptance)},
        )
        for lookahead in (1, 4, 16):
            prediction = predict(f"d:{lookahead} > target", calibration)
            cases.append(
                {
                    "acceptance": acceptance,
                    "cost": cost,
                    "slope": slope,
                    "lookahead": lookahead,
                    "tokens": prediction.acceptance_length,
                    "speed": 1 / prediction.ms_per_token,
                }
            )
    return cases


def references() -> dict[str, Any]:
    """Everything, as ``js/lib/testing.ts`` reads it."""
    traces = {"made": make_trace()}
    for name in offered():
        traces[name] = recorded_runs()[name]()
    shown = {}
    metrics = {}
    for name, trace in traces.items():
        shown[name] = run_data.snapshot(trace, name)
        metrics[name] = trace.metrics()
    return {
        "runs": shown,
        "metrics": metrics,
        "states": states(),
        "about": about(),
        "games": games(),
        "verdicts": verdicts(),
        "one_draft": one_draft_speeds(),
        "stacks": [[text, printed(text)] for text in map(str.strip, STACKS)],
        "stack_names": stack_names(),
    }
