"""``python -m tools.legibility``: measure how easy the code is to read."""

import sys

from tools.legibility.parts import main

sys.exit(main())
