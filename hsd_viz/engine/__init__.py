"""Engines, which decode: :func:`load_engine` in this process, :class:`RemoteEngine` on a server.

Importing this package does not load torch.
"""

from hsd_viz.names.lazy import lazily

__getattr__, __dir__, _LAZY = lazily(
    __name__,
    {
        "..decoding.engine": ("Engine",),
        "..decoding.keywords": ("DecodingKeywords",),
        "..decoding.options": ("DecodingOptions",),
        ".local": ("LocalEngine", "load_engine"),
        ".remote": ("RemoteEngine",),
    },
)
__all__ = ["prepare", *_LAZY]


def prepare() -> None:
    """Start compiling the native CPU backend in the background, ahead of the first decode."""
    from hsd_viz.native.build import default_build

    default_build().start()
