"""A calibration written by hand."""

from hsd_viz.latency.inputs import Calibration, Edge, LevelCost, LookupCost, Tier

#: No draft is worth its time here: whoever is not held to a chain would leave it.
DEAR = Calibration(
    models=("nano", "small", "target"),
    costs={
        "nano": LevelCost((0.3, 0.31), None, 0.01),
        "small": LevelCost((0.7, 0.8, 0.9), (0.6,), 0.02),
        "target": LevelCost((1.0, 1.2, 1.3)),
    },
    edges={
        ("nano", "small"): Edge((0.8, 0.6), 0.7),
        ("small", "target"): Edge(tail=0.7),
        ("nano", "target"): Edge(tail=0.5),
    },
    tiers={
        ("db", "nano"): Tier(((0, 0, 0.5), (3, 2, 0.5))),
        ("db", "target"): Tier(((4, 4, 1.0),)),
    },
    lookups={"db": LookupCost(0.01, 0.02)},
)
