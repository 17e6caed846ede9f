"""Run the tokenizer of an untrusted file in a separate process, with limits on memory and time.

A file that passes the checks of :mod:`hsd_viz.models.tokenizer_file` can still exceed the memory or
end the process that opens it. In a separate process this only causes an error.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import weakref
from array import array
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from hsd_viz.errors import BadFile, UserError, first_line, no_panics
from hsd_viz.models.tokenizer_file import open_tokenizer
from hsd_viz.settings.ranges import MAX_IDS

#: The largest memory in bytes.
MAX_MEMORY = 2 * 2**30
#: The largest processor time in seconds for opening the file, and for each text.
MAX_SECONDS = 20
#: The elapsed time in seconds after which the process is killed.
MAX_ELAPSED = 120
#: The largest number of characters in a text.
MAX_CHARACTERS = 2**22
#: The largest number of tokens in a text.
MAX_TOKENS = 2**22
#: The seconds to wait for the process to end.
_ENDING = 5


class TokenizerProcess:
    """A tokenizer in a separate process.

    Args:
        path: the ``tokenizer.json``.

    Attributes:
        vocabulary: the id of each token.

    Raises:
        BadFile: if the tokenizer is not valid, not supported, or exceeds the limits.
    """

    def __init__(self, path: Path) -> None:
        self._name = path.name
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "TOKENIZERS_PARALLELISM": "false",
            "RAYON_NUM_THREADS": "1",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hsd_viz.models.tokenizer_process", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        # Ends the process even if an error prevents close() from being called.
        self._end = weakref.finalize(self, _end, self._process)
        try:
            self.vocabulary: dict[str, int] = json.loads(self._answer("vocabulary"))
        except BaseException:
            self.close()
            raise

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, without added special tokens.

        Raises:
            BadFile: if the limits are exceeded.
            UserError: if the text is too long or not valid Unicode.
        """
        if len(text) > MAX_CHARACTERS:
            raise UserError(
                f"a text of {len(text):,} characters is too long: at most {MAX_CHARACTERS:,}"
            )
        try:
            content = text.encode()
        except UnicodeEncodeError:
            raise UserError("the text is not valid Unicode") from None
        with suppress(OSError):  # if the process has ended, reading the answer raises the error
            self._input.write(len(content).to_bytes(8, "little") + content)
            self._input.flush()
        numbers = array("I")
        numbers.frombytes(self._answer("ids"))
        return numbers.tolist()

    def close(self) -> None:
        """End the process."""
        self._end()

    @property
    def _input(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _output(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _answer(self, expected: str) -> bytes:
        """Return the content of the next answer of the process.

        Raises:
            BadFile: if the answer is an error, or if the process has ended.
        """
        deadline = threading.Timer(MAX_ELAPSED, self._process.kill)
        deadline.daemon = True
        deadline.start()
        try:
            kind, _, size = self._output.readline(100).decode().partition(" ")
            content = self._output.read(int(size or 0))
        finally:
            deadline.cancel()
        if kind == "error":
            raise BadFile(content.decode(errors="replace"))
        if kind != expected or len(content) != int(size):
            raise BadFile(
                f"the tokenizer {self._name} cannot be used: it takes more than "
                f"{MAX_MEMORY // 2**30} GiB of memory or {MAX_SECONDS} seconds"
            )
        return content


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(_ENDING)
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            assert pipe is not None
            pipe.close()


def _limit(seconds: int) -> None:
    """Limit this process to ``seconds`` more processor time and to :data:`MAX_MEMORY`."""
    if os.name != "posix":
        return
    import resource

    cpu_seconds = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    limits = {
        resource.RLIMIT_AS: MAX_MEMORY,
        resource.RLIMIT_CPU: int(cpu_seconds) + seconds,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
    }
    for kind, limit in limits.items():
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        with suppress(ValueError, OSError):  # macOS has no limit of the address space
            resource.setrlimit(kind, (limit, hard))


def _send(kind: str, content: bytes) -> None:
    output = sys.stdout.buffer
    output.write(f"{kind} {len(content)}\n".encode() + content)
    output.flush()


def _ids(tokenizer: Any, content: bytes) -> bytes:
    with no_panics("the tokenizer does not take this text"):
        encoding = tokenizer.encode(content.decode(), add_special_tokens=False)
        if len(encoding) > MAX_TOKENS:
            raise UserError(f"a text becomes {len(encoding):,} tokens: at most {MAX_TOKENS:,}")
        return array("I", encoding.ids).tobytes()


def _vocabulary(tokenizer: Any) -> bytes:
    with no_panics("the tokenizer has no vocabulary"):
        vocabulary = tokenizer.get_vocab(with_added_tokens=True)
        if not vocabulary or max(vocabulary.values()) >= MAX_IDS:
            raise UserError(f"the tokenizer has no tokens, or numbers of {MAX_IDS:,} and more")
        return json.dumps(vocabulary).encode()


def main(path: str) -> None:
    """Write the vocabulary, then the token ids of each text in the input, to standard output."""
    _limit(MAX_SECONDS)
    try:
        tokenizer = open_tokenizer(Path(path))
        _send("vocabulary", _vocabulary(tokenizer))
    except UserError as error:
        _send("error", str(error).encode(errors="replace"))
        return
    except MemoryError as error:
        _send("error", f"the tokenizer needs too much memory: {first_line(error)}".encode())
        return
    source = sys.stdin.buffer
    while head := source.read(8):
        content = source.read(int.from_bytes(head, "little"))
        _limit(MAX_SECONDS)
        try:
            _send("ids", _ids(tokenizer, content))
        except UserError as error:
            _send("error", str(error).encode(errors="replace"))


if __name__ == "__main__":
    main(sys.argv[1])
