"""What the documentation takes from measurements: tables, figures in sentences, and pictures."""
