"""Prediction of the speed of stacks on other hardware.

``options`` declares the options. ``api`` reads the machine and the models. ``given_acceptance``
reads known acceptances, and ``assumed_acceptance`` supplies the others. ``stacks_on_hardware``
applies the latency law. ``hardware_plan`` is the result.
"""
