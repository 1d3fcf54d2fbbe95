"""Table rows: schema, columns, background, bins, and rows as features that can be changed."""
