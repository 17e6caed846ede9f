"""The engine as a service: a web application over workers, run by Ray Serve. Needs the extra ``cluster``."""
