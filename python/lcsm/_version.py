"""The version, which is that of include/lcsm/lcsm.h."""

__version__ = "0.2.0"
