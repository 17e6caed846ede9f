"""Search for the fastest stack on this machine.

``calibrate`` measures costs and acceptances. ``search`` ranks the stacks by the latency law, and
measures the best of them with :mod:`hsd_viz.measure.bench`.
"""
