"""For every test, before anything imports torch: one thread (small models gain nothing from more) and no network."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from hypothesis import HealthCheck, settings

# On a busy machine tests take longer.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

#: Files that take long.
LONG = """test_compiled test_greedy test_native test_views_serve test_stacks_exact test_law_real test_chi_square
test_bridges_exact test_attack_files test_views_site test_scripts test_tab test_without_torch""".split()


def pytest_collection_modifyitems(items):
    """Long files first, so that no worker is left with one at the end; Chromium last, because its event loop stays."""
    items.sort(key=lambda item: (item.get_closest_marker("browser") is not None, item.path.stem not in LONG))
