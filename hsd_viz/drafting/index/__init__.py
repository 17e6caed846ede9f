"""The statistics index: file format, counting, building and inspection."""
