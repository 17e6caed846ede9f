"""The latency law of a stack, its inputs, and the selection of stacks by it.

The only dependency is numpy.
"""
