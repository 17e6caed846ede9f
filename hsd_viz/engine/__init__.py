"""Who decodes: :func:`load_engine` for this process, :class:`ReplayEngine` for recorded traces. Import-light: no torch."""

from hsd_viz.engine.base import Engine

__all__ = ["Engine"]
