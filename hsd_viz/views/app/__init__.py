"""The dashboard: its page, the Voilà server, and the kernels of served pages."""
