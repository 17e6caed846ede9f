"""JupyterHub on one machine: each user gets JupyterLab with hsd_viz; one engine decodes for all.

    pip install 'hsd-viz[app,cluster]' jupyterhub && npm install -g configurable-http-proxy
    HSD_VIZ_TOKEN=... hsd-viz serve &
    HSD_VIZ_ENGINE_TOKEN=... jupyterhub -f deploy/jupyterhub/jupyterhub_config.py

To try it without accounts of the system, set HSD_VIZ_HUB_TRIAL=1: any user name, the password in
HSD_VIZ_HUB_PASSWORD.
"""

import os

c = get_config()  # noqa: F821 (defined by JupyterHub)

c.JupyterHub.bind_url = "http://127.0.0.1:8000"  # put a proxy with TLS before it
c.JupyterHub.hub_connect_ip = "127.0.0.1"
c.Spawner.default_url = "/lab"
c.Spawner.mem_limit = "1G"
c.Spawner.environment = {
    "HSD_VIZ_ENGINE": "http://127.0.0.1:8800",
    "HSD_VIZ_ENGINE_TOKEN": os.environ.get("HSD_VIZ_ENGINE_TOKEN", ""),
    "HF_HUB_OFFLINE": "1",
}
c.Authenticator.allow_all = True

if os.environ.get("HSD_VIZ_HUB_TRIAL"):
    c.JupyterHub.authenticator_class = "dummy"
    c.DummyAuthenticator.password = os.environ["HSD_VIZ_HUB_PASSWORD"]
    c.JupyterHub.spawner_class = "simple"
