"""``python -m tools.mutants``: apply the faults; :mod:`tools.mutants.apply`."""

import sys

from tools.mutants.apply import main

sys.exit(main(sys.argv[1:]))
