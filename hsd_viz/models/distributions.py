"""The distributions of a family: packages with weights, draft models and databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hsd_viz.errors import UserError
from hsd_viz.models.families import Family, PackagedFile

#: Of the models and databases that were made for this project.
OWNER = "hsd_viz"
OWN_LICENCE = "Apache-2.0"


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution of a family.

    Attributes:
        requirement: what the installer is given.
        megabytes: its size.
        content: what it contains.
        owner: whose work that is.
        licence: its licence.
        place: where it is; ``None`` if it is to be installed.
        find: return where it is after an installation.
        hash: the first digits of the SHA-256 of its file; "" if it is not checked.
    """

    requirement: str
    megabytes: int
    content: str
    owner: str
    licence: str
    place: Path | None
    find: Callable[[], Path | None]
    hash: str = ""


def distributions_of(family: Family) -> list[Distribution]:
    """Return the distributions of a family."""
    return [*_weights(family), _own_models(family)]


def _weights(family: Family) -> Iterator[Distribution]:
    """Yield the weights of a family that are distributions of others."""
    for file in family.models.values():
        if isinstance(file, PackagedFile):
            yield Distribution(
                requirement=file.requirement,
                megabytes=file.megabytes,
                content=family.title,
                owner=family.owner,
                licence=family.licence,
                place=file.find(),
                find=file.find,
                hash=file.hash,
            )


def _own_models(family: Family) -> Distribution:
    """Return what was made for a family: part of a checkout, a distribution beside a wheel."""
    package = family.package
    installed = package.find()
    folder = family.databases.parent
    is_checkout = folder.is_dir() and folder != installed
    # Of another version it is replaced: texts depend on it.
    is_tested = installed is not None and package.installed_version == package.version
    return Distribution(
        requirement=package.requirement,
        megabytes=package.megabytes,
        content=f"{package.content} of {family.name}",
        owner=OWNER,
        licence=OWN_LICENCE,
        place=folder if is_checkout or is_tested else None,
        find=package.find,
    )


def check_hash(family: Family, path: Path, expected: str) -> None:
    """Check that an installed file is the one that its family was tested with.

    Raises:
        UserError: if its hash differs from ``expected``.
    """
    # The command line imports no tensors before a command runs.
    from hsd_viz.models.files import weights_hash

    actual = weights_hash([path])
    if actual != expected:
        raise UserError(
            f"{path} is not the file that {family.name} was tested with: "
            f"its hash is {actual}, expected {expected}"
        )
