"""Episodes, records, reports."""
