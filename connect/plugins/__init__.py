"""Finding plug-ins and loading them."""
