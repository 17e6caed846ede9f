"""The licences the corpus accepts: an allow-list over package metadata; everything else is denied."""

from __future__ import annotations

import re
from email.message import Message

_ALLOWED_IDS = frozenset(
    [
        *(
            "mit",
            "mit-0",
            "mit-cmu",
            "bsd",
            "bsd-2-clause",
            "bsd-3-clause",
            "0bsd",
            "apache-2.0",
            "psf-2.0",
            "python-2.0",
        ),
        *("isc", "zlib", "bsl-1.0", "cc0-1.0", "unlicense", "cnri-python", "llvm-exception", "hpnd"),
    ]
)
_ALLOWED_CLASSIFIERS = {
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "BSD License": "BSD",
    "Apache Software License": "Apache-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "ISC License (ISCL)": "ISC",
    "The Unlicense (Unlicense)": "Unlicense",
    "zlib/libpng License": "Zlib",
}
# Spellings of the free-text field, compared in lower case without punctuation.
_ALLOWED_NAMES = {
    "mit": "MIT", "mit license": "MIT", "the mit license": "MIT", "bsd": "BSD", "bsd license": "BSD",
    "new bsd": "BSD-3-Clause", "bsd 2 clause": "BSD-2-Clause", "bsd 2 clause license": "BSD-2-Clause",
    "bsd 3 clause": "BSD-3-Clause", "bsd 3 clause license": "BSD-3-Clause", "bsd 3": "BSD-3-Clause",
    "apache 2 0": "Apache-2.0", "apache 2 0 license": "Apache-2.0",
    "apache license 2 0": "Apache-2.0", "apache license version 2 0": "Apache-2.0",
    "apache software license": "Apache-2.0", "apache software license 2 0": "Apache-2.0",
    "isc": "ISC", "isc license": "ISC", "psf": "PSF-2.0", "psfl": "PSF-2.0", "psf 2 0": "PSF-2.0",
}  # fmt: skip
_COPYLEFT = re.compile(
    r"\b(?:[al]?gpl|gnu (?:lesser |affero |library )?general public|gnu (?:lesser|affero|library)|"
    r"mpl|mozilla public|eclipse public|epl|cddl|eupl)",
    re.IGNORECASE,
)


def expression_is_permissive(expression: str) -> bool:
    """Return whether all licences of an SPDX expression are on the list; ``OR`` is treated like ``AND``."""
    ids = [t.lower() for t in re.split(r"[\s()]+", expression) if t and t.upper() not in {"AND", "OR", "WITH"}]
    return bool(ids) and all(i in _ALLOWED_IDS for i in ids)


def distribution_licence(meta: Message) -> str | None:
    """Return the licence of a distribution with core metadata ``meta`` if it is permissive, else ``None``."""
    expression = meta.get("License-Expression")
    if expression:
        return expression if expression_is_permissive(expression) else None
    classifiers = [c for c in meta.get_all("Classifier") or [] if c.startswith("License ::")]
    named = [c.rsplit("::", 1)[-1].strip() for c in classifiers if c.count("::") > 1]
    field = (meta.get("License") or "").strip()
    # A long field is the full text of the licence; its name is in the classifier or in the first line.
    first = field.split("\n", 1)[0][:80]
    if _COPYLEFT.search(first) or any(n not in _ALLOWED_CLASSIFIERS for n in named):
        return None
    if named:
        return " AND ".join(dict.fromkeys(_ALLOWED_CLASSIFIERS[n] for n in named))
    if expression_is_permissive(first):
        return first
    return _ALLOWED_NAMES.get(" ".join(re.split(r"[^a-z0-9]+", first.lower())).strip())


def header_is_permissive(head: str) -> bool:
    """Return whether ``head``, the first few thousand characters of a file, names no copyleft licence."""
    return _COPYLEFT.search(head) is None
