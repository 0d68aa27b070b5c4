"""What can be expected of routes, and how it is judged."""
