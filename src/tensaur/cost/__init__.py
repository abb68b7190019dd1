"""What a form of a graph costs: on paper (operations, bytes, launches) or measured on this machine."""
