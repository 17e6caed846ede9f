"""Where a server may listen: addresses that only this machine reaches, and others, which need a token."""

import ipaddress
import socket


def check_address(host: str, port: int, token: str | None) -> None:
    """Check host, port and token. Raises: ValueError: if the port is out of range or in use, or a host other than
    loopback has no token.
    """
    if not 1 <= port <= 65535:
        raise ValueError(f"port {port} is out of range: use 1 to 65535")
    if not token and not is_loopback(host):
        raise ValueError(
            f"serving on {host or 'all addresses'} needs a token: add --token SECRET or use --host 127.0.0.1"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            reason = error.strerror or error
            raise ValueError(f"{host}:{port} cannot be served: {reason}; choose another --port") from None


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def free_port() -> int:
    """Return a port of this machine that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def url(host: str, port: int) -> str:
    """Return the address of a server for a browser on this machine."""
    if host in ("", "0.0.0.0", "::"):
        host = "localhost"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
