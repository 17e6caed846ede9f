"""``python -m tools.language``: list wording to replace; :mod:`tools.language.findings`."""

import sys

from tools.language.findings import main

sys.exit(main())
