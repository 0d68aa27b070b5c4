"""What the site hands in: inventory, plan, settings, recorded results. Imports parse and below."""
