"""Runs the server of pages; :func:`hsd_viz.views.app.server.command` returns the arguments."""

import sys

# Importing it builds the grammars of international addresses, which takes a second, so that
# jsonschema can validate what no notebook and no event of Voilà has.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

from hsd_viz.views.app.pages import Pages  # noqa: E402

if __name__ == "__main__":
    Pages.launch_instance()
