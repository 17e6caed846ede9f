"""Models as packages of data: a distribution that contains weights and databases, and no code.

A checkout contains the models and databases that were made for this project. A wheel leaves them to
one distribution a family, so that a new version of the code is a small download. Such a
distribution names its package by an entry point of the group ``hsd_viz.models``; the package is
never imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

#: The group of the entry points: the name is the family, the value is the package.
GROUP = "hsd_viz.models"
#: The folder within the package.
FOLDER = "weights"


@dataclass(frozen=True, slots=True)
class ModelPackage:
    """A distribution of the models of a family.

    Attributes:
        family: the name of the family, which is that of the entry point.
        distribution: the name of the distribution.
        version: the version that this code is tested with. Texts depend on the weights, so that it
            is required exactly.
        megabytes: the size of the download.
        content: what it contains.
    """

    family: str
    distribution: str
    version: str
    megabytes: int
    content: str

    @property
    def requirement(self) -> str:
        """What pip installs."""
        return f"{self.distribution}=={self.version}"

    @property
    def installed_version(self) -> str | None:
        """The version that is installed; ``None`` if there is none."""
        import importlib.metadata

        try:
            return importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return None

    def find(self) -> Path | None:
        """Return the folder of the models; ``None`` if the distribution is not installed."""
        # Imported late: a checkout needs neither.
        import importlib.metadata
        import importlib.util

        for point in importlib.metadata.entry_points(group=GROUP, name=self.family):
            if point.dist is None or point.dist.name != self.distribution:
                continue
            spec = importlib.util.find_spec(point.value)
            if spec is None or not spec.submodule_search_locations:
                continue
            folder = Path(next(iter(spec.submodule_search_locations))) / FOLDER
            if folder.is_dir():
                return folder
        return None

    def folder(self, checkout: Path) -> Path:
        """Return the folder of the models: ``checkout``, which a checkout of the project has, else
        that of the distribution.

        Without either the answer is ``checkout``, which then does not exist.
        """
        if checkout.is_dir():
            return checkout
        return self.find() or checkout


#: The models of the family ``code``: three models, their tokenizer and their databases.
CODE_MODELS = ModelPackage(
    family="code",
    distribution="hsd-viz-models-code",
    version="1.0.0",
    megabytes=21,
    content="models and databases",
)
#: What was made for SmolLM2: draft models and databases. The target is another distribution.
SMOLLM2_MODELS = ModelPackage(
    family="smollm2",
    distribution="hsd-viz-models-smollm2",
    version="1.0.0",
    megabytes=15,
    content="draft models and databases",
)
