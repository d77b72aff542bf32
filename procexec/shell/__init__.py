"""Shell text: atoms, canonical form, option tables."""
