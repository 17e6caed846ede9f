"""``hsd-viz``, which is ``python -m hsd_viz``."""

import sys

from hsd_viz.errors import INTERRUPTED


def main() -> int:
    """Run a command and return its exit code, also if Ctrl-C ends it while its modules are
    imported.
    """
    try:
        from hsd_viz import cli

        return cli.main()
    except KeyboardInterrupt:
        print("hsd-viz: interrupted", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
