"""Audits of losslessness: whether the output of a decoder has the distribution of the target.

``exact`` enumerates a function over toy models, ``stacks`` the project's own loop, and
``schedules``, in fractions, rules that end drafts. ``statistical`` compares two endpoints.
``options`` declares their settings, ``api`` has the function of the package.
"""
