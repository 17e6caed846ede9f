"""``hsd-viz`` without a command."""

#: Output of the command without arguments.
OVERVIEW = """\
See, measure and learn speculative decoding. Three things to do:

  look inside   hsd-viz --open
                The explorer in a browser: every token, what proposed it and why it was accepted.
  decode        hsd-viz decode --stack "db > target" --prompt "def main("
                A text, and how many tokens each forward pass of the target brought.
  find out      hsd-viz doctor LOG
                Why your own server is not faster with speculation, and what to set.

hsd-viz --help lists all commands.\
"""
OPEN_HELP = "open the explorer, which decodes in the browser's own tab"
