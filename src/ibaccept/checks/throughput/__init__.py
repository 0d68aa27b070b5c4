"""What can be expected of a fabric under load, and how it is judged."""
