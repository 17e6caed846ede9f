"""Is the output of a decoder distributed as the target's own?

``exact`` enumerates a function over toy models, ``stacks`` the project's own loop, and
``schedules`` the rules that end drafts, in fractions; ``statistical`` compares two endpoints.
``api`` has what Python calls.
"""
