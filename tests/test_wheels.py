"""The wheels: built from this checkout, and decoding where there is no compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hsd_viz.models.packages import CODE_MODELS
from hsd_viz.native.build import find_compiler, kernels

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
#: The largest wheel of the code, in bytes.
MAX_BYTES = 5_000_000


def build(*arguments: str, out: Path) -> Path:
    """Run ``python -m build`` and return the wheel."""
    command = [sys.executable, "-m", "build", "--outdir", str(out), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    return max(out.glob("*.whl"), key=lambda path: path.stat().st_mtime)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> tuple[Path, Path]:
    """Return the wheel of the code, built from the sdist, and that of the models."""
    out = tmp_path_factory.mktemp("dist")
    code = build(".", out=out)
    models = build("--wheel", "packages/models-code", out=out)
    return code, models


def test_the_wheel_of_the_code_is_small_and_requires_the_models(wheels):
    code, models = wheels
    assert code.stat().st_size <= MAX_BYTES
    with zipfile.ZipFile(code) as archive:
        names = archive.namelist()
        [about] = [name for name in names if name.endswith(".dist-info/METADATA")]
        assert f"Requires-Dist: {CODE_MODELS.requirement}" in archive.read(about).decode()
    assert not [name for name in names if "ladder/weights" in name]
    with zipfile.ZipFile(models) as archive:
        assert "hsd_viz_models_code/weights/target/model.safetensors" in archive.namelist()


def test_the_wheel_has_a_library_for_each_kernel(wheels):
    find_compiler()
    with zipfile.ZipFile(wheels[0]) as archive:
        libraries = []
        for name in archive.namelist():
            if "native/lib/" in name:
                libraries.append(Path(name).name)
    assert {name.partition("-")[0] for name in libraries} == set(kernels(every=True))
    assert not wheels[0].name.endswith("-any.whl")


@pytest.mark.parametrize("kernel", kernels())
def test_the_installed_wheel_repeats_the_recordings_without_a_compiler(wheels, tmp_path, kernel):
    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(site)]
    subprocess.run([*install, *map(str, wheels)], check=True, timeout=300)
    environment = {
        "PATH": "",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(site),
        "HSD_VIZ_KERNEL": kernel,
        "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", ""),
    }
    command = [sys.executable, str(ROOT / "tools" / "release" / "wheel_check.py")]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert f"kernel {kernel}, packaged: True" in done.stdout
    assert str(site) in done.stdout.splitlines()[0]
