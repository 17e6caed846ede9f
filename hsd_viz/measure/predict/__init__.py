"""The speed of stacks on hardware that is not at hand.

``api`` reads machine and models, ``assumed_acceptance`` supplies what was not measured,
``stacks_on_hardware`` applies the latency law, ``hardware_plan`` is the result.
"""
