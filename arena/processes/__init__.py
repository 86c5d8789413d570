"""Bot processes of the arena, each with a keeper that ends it with the arena."""
