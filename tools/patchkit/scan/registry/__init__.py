"""The operator registry: which overloads reach a C++ kernel, which arguments are outputs, in which layout."""

from patchkit.scan.registry.dispatch import KernelUse, OutputArgument, OverloadUse, Parameter
from patchkit.scan.registry.matching import matching_uses
from patchkit.scan.registry.meta import MetaOutput, MetaSite
from patchkit.scan.registry.native_calls import NativeCall
from patchkit.scan.registry.origins import Origin
from patchkit.scan.registry.registry import OutputLayout, Registry, load_registry
from patchkit.scan.registry.schema import Argument, Overload
from patchkit.scan.registry.stubs import StubUse

__all__ = [
    "Argument",
    "KernelUse",
    "MetaOutput",
    "MetaSite",
    "NativeCall",
    "Origin",
    "OutputArgument",
    "OutputLayout",
    "Overload",
    "OverloadUse",
    "Parameter",
    "Registry",
    "StubUse",
    "load_registry",
    "matching_uses",
]
