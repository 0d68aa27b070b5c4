"""The SSH server on loopback that stands for every host of a simulated fabric."""
