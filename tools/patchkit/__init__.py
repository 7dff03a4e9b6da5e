"""Find, fix and prove PyTorch MPS kernels that lose or misplace a non-contiguous output."""

__version__ = "0.1.0"
