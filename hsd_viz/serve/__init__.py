"""The engine as a service: a web application over workers, run by Ray Serve. Needs the extra
``cluster``.
"""

import logging
import os
import secrets
from typing import Any

from hsd_viz.errors import UserError, first_line


def prepare(address: str | None = None) -> None:
    """Set the environment that Ray reads when it is imported: no reports of usage, patience on a
    busy machine; for a Ray that it starts (without ``address``) also ports on loopback and a token
    that only its processes know.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")
    os.environ.setdefault("RAY_agent_register_timeout_ms", "120000")
    if address is None:
        # The switch that makes Ray use loopback on systems other than Linux; `_node_ip_address`
        # does not (Ray 2.60).
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def start(address: str | None = None, cpus: int = 1) -> Any:
    """Start Ray on this machine with at least ``cpus`` CPUs, which ours may share, or join the
    cluster at ``address``; return the module.

    Raises:
        UserError: if it does not start.
    """
    prepare(address)
    import ray

    try:
        ray.init(
            address,
            num_cpus=None if address else max(os.cpu_count() or 1, cpus),
            include_dashboard=None if address else False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except Exception as error:  # Ray raises plain exceptions
        raise UserError(f"Ray did not start: {first_line(error)}") from None
    return ray
