"""Models over static buffers, their forwards replayed as CUDA graphs."""

from hsd_viz.runtime.graphs.model import GraphModel

__all__ = ["GraphModel"]
