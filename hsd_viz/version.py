"""The version of the package.

The build reads it from this file, so that a checkout on the path needs no installation.
"""

__version__ = "1.1.0"
