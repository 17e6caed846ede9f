"""Database files: format and look-up, counting, building and inspection."""
