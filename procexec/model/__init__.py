"""The nouns that the stages exchange."""
