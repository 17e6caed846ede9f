"""The version of the package. The build reads it here; a checkout on the path needs no
installation.
"""

__version__ = "1.1.0"
