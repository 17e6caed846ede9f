"""``python -m tools.release``: complete a release; :mod:`tools.release.files`."""

import sys

from tools.release.files import main

sys.exit(main(sys.argv[1:]))
