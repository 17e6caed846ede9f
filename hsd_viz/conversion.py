"""Conversion of data from elsewhere to this package's types.

It is not part of :mod:`hsd_viz.errors`, which a build imports before any requirement is installed.
"""

from __future__ import annotations

import msgspec

#: Exceptions of ``msgspec.convert`` for data of another type; a text with a lone surrogate is not
#: valid Unicode.
OF_ANOTHER_TYPE = (msgspec.ValidationError, UnicodeEncodeError)
