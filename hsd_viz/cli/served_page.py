"""The page of ``hsd-viz serve``, which decodes on its server."""

from __future__ import annotations

from hsd_viz.models.families import find_family
from hsd_viz.serve.settings import ServerSettings
from hsd_viz.views import run_data
from hsd_viz.views.export import document
from hsd_viz.views.page_data import about, family_form, recorded_runs


def served_page(settings: ServerSettings) -> str:
    """Return the page of a server with these settings."""
    form = family_form(find_family(settings.family))
    form["limits"] = {"prompt": settings.prompt_characters, "tokens": settings.new_tokens}
    form["models"] = list(settings.models)
    runs = {}
    for name, load in recorded_runs().items():
        runs[name] = run_data.snapshot(load(), f"recordings/{name}")
    content = {"about": about() | form, "runs": runs, "server": True}
    return document(content, '<main class="hsd-page"></main>', "Runs on a server")
