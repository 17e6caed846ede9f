"""The tables of ``docs/results.md``, from the files in ``docs/bench``.

:mod:`tools.docs.tables` writes them. Each function returns one table with its source below it: the
files, and the machine's load.
"""

from __future__ import annotations

from collections.abc import Callable

from tools.docs.results.budgets import chat_lengths, lengths
from tools.docs.results.devices import gpu, page
from tools.docs.results.law import designs, law, law_of_stops, rules, second_draft
from tools.docs.results.passes import (
    integers,
    llama_cpp,
    semantic_lookup,
    smollm2_context,
    smollm2_fidelity,
    smollm2_llama,
    tab,
    tab_family,
)
from tools.docs.results.speeds import (
    BESIDE_SEMANTIC,
    IN_THE_REPORT,
    beside_paper,
    by_task,
    former,
    hierarchy_gain,
    lengths_by_task,
    pace,
    speed,
)

#: Marked place of ``docs/results.md`` -> its table.
RESULTS: dict[str, Callable[[], str]] = {
    "speed-heldout": lambda: speed("heldout"),
    "speed-spec-bench": lambda: speed("spec-bench"),
    "spec-bench-tasks": lambda: by_task("spec-bench"),
    "spec-bench-paper": beside_paper,
    "semantic": lambda: speed("semantic"),
    "semantic-tasks": lambda: lengths_by_task("semantic", BESIDE_SEMANTIC),
    "semantic-lookup": semantic_lookup,
    "stops": lambda: speed("stops"),
    "stops-code": lambda: speed("stops-code"),
    "stops-law": law_of_stops,
    "copies": lambda: speed("copies"),
    "copies-whole": lambda: by_task("copies-whole"),
    "hierarchy-gain": lambda: hierarchy_gain("copies-whole"),
    "lengths-smollm2": chat_lengths,
    "pays": lambda: speed("heldout", IN_THE_REPORT),
    "speed-python": lambda: speed("python"),
    "pace": lambda: pace("heldout"),
    "page": page,
    "lengths": lengths,
    "rules": rules,
    "law": law,
    "law-chat": lambda: law("plan-chat"),
    "designs": designs,
    "second-draft": second_draft,
    "int8": integers,
    "llama-cpp": llama_cpp,
    "smollm2-llama": smollm2_llama,
    "smollm2-context": smollm2_context,
    "smollm2-fidelity": smollm2_fidelity,
    "former": former,
    "tab": tab,
    "tab-smollm2": tab_family,
    "gpu": gpu,
}
