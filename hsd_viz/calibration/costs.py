"""What the drafts of ``db`` cost their verifier: from the table that ships with the ladder, a file, or timed here.

``db`` sizes its trees by these costs. With a table, the same command gives the same tree on every machine.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hsd_viz.calibration.forwards import DraftCosts
from hsd_viz.decoding.session import Model
from hsd_viz.drafting.estimates import CostCurve, cost_curve
from hsd_viz.ladder.load import weights_dir

FORMAT = "hsd_viz costs"
SHIPPED, MEASURED = "shipped", "measured"


class Costs:
    """Costs of a verification by number of draft tokens. ``source`` is ``shipped``, ``measured`` or a JSON file.

    A file has ``{"format": "hsd_viz costs", "models": {NAME: {DTYPE: [c(0), c(1), ...]}}, "others": {DEVICE: c}}``:
    costs of 0, 1, 2, ... draft tokens in any unit, and for other models that of one more token in steps of one token.
    ``python -m benchmarks.costs`` writes one.

    Raises:
        ValueError: if the file cannot be read or is not such a table.
    """

    def __init__(self, source: str | Path = SHIPPED) -> None:
        self.source = str(source)
        self._timed = DraftCosts() if self.source == MEASURED else None
        if self._timed is None:
            self._table = _read(weights_dir() / "costs.json" if self.source == SHIPPED else Path(source))

    def timed(self, model: Model) -> bool:
        """Return whether :meth:`of` would time the model's forward passes now."""
        return self._timed is not None and not self._timed.known(model)

    def of(self, model: Model, device: str = "cpu") -> CostCurve:
        """Return the costs for a verifier on a device (``cpu`` or ``cuda``)."""
        if self._timed is not None:
            return cost_curve(self._timed.of(model))
        by_dtype = self._table["models"].get(model.name, {}) if device == "cpu" else {}
        return by_dtype.get(model.dtype) or next(iter(by_dtype.values()), self._table["others"][device])


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise ValueError(f"its format is not '{FORMAT}'")
        models = {
            name: {dtype: cost_curve(row) for dtype, row in by_dtype.items()}
            for name, by_dtype in data["models"].items()
        }
        return {"models": models, "others": {device: cost_curve(data["others"][device]) for device in ("cpu", "cuda")}}
    except OSError as error:
        raise ValueError(f"the costs {path} cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a table of costs: {type(error).__name__}: {error}") from None
