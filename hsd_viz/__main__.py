"""``python -m hsd_viz`` is ``hsd-viz``."""

import sys

from hsd_viz.cli import main

sys.exit(main())
