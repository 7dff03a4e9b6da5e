"""The operator registry: which overloads reach a C++ kernel, which arguments are outputs, in which layout.

``load_registry(root)`` reads the dispatch tables; the rest is read when it is first asked for:

* ``registry.kernels[name]``: a kernel's overloads, parameters and outputs (:class:`KernelUse`).
* ``registry.overloads[name]``: an overload's schema, and how Python reaches it (:class:`Overload`).
* ``registry.outputs(use)``: what a kernel may assume of its outputs' strides (:class:`OutputLayout`).
* ``registry.meta(name)``: what a structured operator's meta function asks for (:class:`MetaOutput`).
* ``registry.stubs[name]``: a stub's MPS kernel, and the operators that call it (:class:`StubUse`).
* ``registry.operator_calls(name)``, ``registry.function_calls(name)``: who calls an operator or a C++
  function in the native files, with whose tensors (:class:`NativeCall`, :class:`Origin`).
* ``registry.public_routes(name)``: public overloads that lead to an underscored one.
"""

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
