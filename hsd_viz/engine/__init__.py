"""Engines: :func:`load_engine` decodes in this process, :class:`RemoteEngine` on a server. No
torch.
"""

from hsd_viz.decoding.engine import DEFAULTS, DecodeCall, Engine, Options
from hsd_viz.words import lazily

__getattr__, _, _LAZY = lazily(
    __name__, {".local": ("load_engine", "LocalEngine"), ".remote": ("RemoteEngine",)}
)
__all__ = ["DEFAULTS", "DecodeCall", "Engine", "Options", "prepare", *_LAZY]


def prepare() -> None:
    """Start compiling the native CPU backend in the background, so that it is ready for the first
    decode.
    """
    from hsd_viz.native.build import default_build

    default_build().start()
