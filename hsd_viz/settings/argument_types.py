"""Types that only the command line distinguishes: how the text of an argument is read.

An option states one as ``CliOption(type=...)``. The values are those of the type that each extends.
"""

from __future__ import annotations

from pathlib import Path
from typing import NewType

#: A file that a command writes: whether it can be written is checked while the command line is
#: parsed.
FileToWrite = NewType("FileToWrite", Path)
#: The same, or ``-`` for standard output.
Output = NewType("Output", Path)
#: The same for a trace, whose name states its format.
TraceToWrite = NewType("TraceToWrite", Path)
#: A number of tokens: 8k is 8192, also where the default is shown.
Tokens = NewType("Tokens", int)
