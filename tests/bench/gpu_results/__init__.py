"""Every figure that the GPU data path is held to, in one run on a machine with an NVIDIA GPU."""
