"""SGLang: responses with ``meta_info``."""

from collections.abc import Mapping

from hsd_viz.adapters.record import counts_of, imported
from hsd_viz.trace import Trace

NAME = "sglang"
#: Newer versions renamed two counts.
RENAMED = {
    "spec_draft_token_num": "spec_proposed_drafts",
    "spec_accept_token_num": "spec_accepted_drafts",
}


def read(response: Mapping) -> Trace | None:
    """Return the trace of a response, ``None`` if it is of another form."""
    found = response.get("meta_info")
    if not isinstance(found, Mapping) or "spec_verify_ct" not in found:
        return None
    renamed = {old: found[new] for old, new in RENAMED.items() if new in found}
    return imported(NAME, counts_of(NAME, renamed | dict(found)))
