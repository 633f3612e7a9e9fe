"""Values of a schema as columns: which types they have, and how values become rows of them."""
