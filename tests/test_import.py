"""``import hsd_viz`` and everything a viewer needs work without torch and transformers."""

import subprocess
import sys

CODE = """
import sys
import hsd_viz as hsd

loaded = lambda *names: sorted({*names} & set(sys.modules))
assert not (found := loaded("torch", "transformers", "tokenizers", "plotly", "pandas", "ipywidgets", "anywidget")), found
assert type(hsd.dashboard()).__name__ == "App"
assert not (found := loaded("torch", "transformers", "tokenizers")), found
assert set(hsd.__all__) <= set(dir(hsd))
assert all(hasattr(hsd, name) for name in hsd.__all__) and not hasattr(hsd, "nonsense")
"""


def test_importing_and_the_dashboard_load_no_heavy_module():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
