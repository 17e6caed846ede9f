"""The speed of stacks on hardware that is not at hand.

``options`` is what is asked. ``api`` reads machine and models, ``given_acceptance`` what is known
of pairs, ``assumed_acceptance`` supplies what was not measured, ``stacks_on_hardware`` applies the
latency law, ``hardware_plan`` is the result.
"""
