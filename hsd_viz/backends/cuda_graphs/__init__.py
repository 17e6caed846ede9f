"""Models over static buffers, their forward passes replayed as CUDA graphs."""

from hsd_viz.backends.cuda_graphs.model import GraphModel

__all__ = ["GraphModel"]
