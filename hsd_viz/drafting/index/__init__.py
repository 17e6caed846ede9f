"""Database files: their format, look-up, counting, building and inspection."""
