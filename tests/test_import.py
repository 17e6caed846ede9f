"""``import hsd_viz`` and everything a viewer needs work without torch and transformers."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest


def run(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)


def test_importing_loads_no_heavy_module():
    done = run("""
        import sys
        import hsd_viz
        heavy = {"torch", "transformers", "tokenizers", "plotly", "pandas", "ipywidgets", "anywidget"}
        print(sorted(heavy & set(sys.modules)))
    """)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_the_dashboard_opens_without_torch_or_transformers():
    done = run("""
        import sys
        import hsd_viz as hsd
        hsd.dashboard()
        print(sorted({"torch", "transformers", "tokenizers"} & set(sys.modules)))
    """)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_public_names_exist():
    done = run("""
        import hsd_viz as hsd
        assert callable(hsd.dashboard)
        assert set(hsd.__all__) <= set(dir(hsd))
        for name in hsd.__all__:
            getattr(hsd, name)
        print(type(hsd.dashboard()).__name__)
    """)
    assert done.stdout.strip() == "App", done.stdout + done.stderr


def test_unknown_names_are_attribute_errors():
    import hsd_viz

    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        hsd_viz.nonsense  # noqa: B018
