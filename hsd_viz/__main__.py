"""The entry point of ``hsd-viz`` and ``python -m hsd_viz``."""

import sys

from hsd_viz.errors import INTERRUPTED


def main() -> int:
    """Run a command and return its exit code.

    Ctrl-C gives the exit code of an interrupt even while modules are being imported.
    """
    try:
        from hsd_viz import cli

        return cli.main()
    except KeyboardInterrupt:
        print("hsd-viz: interrupted", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
