"""Makes an unmodified torch 2.5 to 2.14 wheel take its "macOS < 15" path on macOS 15 or newer. Not run on
a Mac yet.

torch asks ``-[NSProcessInfo isOperatingSystemAtLeastVersion:]`` once and keeps the answers in the statics of
``MPSDevice::isMacOS13Plus`` (aten/src/ATen/mps/MPSDevice.mm). The method is replaced for that one question
and
put back; then torch is asked again, and only an answer it has kept can still be no.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any


class _Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_long), ("minor", ctypes.c_long), ("patch", ctypes.c_long)]


_METHOD = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p, _Version)
_alive: list[Any] = []


def force_pre15(below: int = 15) -> bool:
    """Force the path; call it before the first MPS operation of the process.

    Args:
        below: the macOS version that this machine shall seem to be older than.

    Returns:
        Whether torch now believes it; False also where there is no such method to replace.

    Raises:
        RuntimeError: this is no Mac, or this torch has no such question.
    """
    import torch

    if sys.platform != "darwin":
        raise RuntimeError("the macOS < 15 path can be forced on a Mac only")
    if not hasattr(torch._C, "_mps_is_on_macos_or_newer"):
        raise RuntimeError(f"torch {torch.__version__} does not ask for the macOS version this way")
    ctypes.CDLL("/System/Library/Frameworks/Foundation.framework/Foundation")
    objc = ctypes.CDLL("/usr/lib/libobjc.A.dylib")

    def function(name: str, result: Any, *arguments: Any) -> Any:
        return ctypes.CFUNCTYPE(result, *arguments)((name, objc))

    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    selector = function("sel_registerName", pointer, text)
    question = selector(b"isOperatingSystemAtLeastVersion:")
    send = function("objc_msgSend", pointer, pointer, pointer)
    info = send(function("objc_getClass", pointer, text)(b"NSProcessInfo"), selector(b"new"))
    # torch asks [NSProcessInfo new], which may be of a private subclass
    method = function("class_getInstanceMethod", pointer, pointer, pointer)(
        function("object_getClass", pointer, pointer)(info), question
    )
    if not method:
        return False
    answer = _METHOD(lambda _self, _selector, version: version.major < below)
    _alive.append(answer)
    replace = function("method_setImplementation", pointer, pointer, pointer)
    original = replace(method, ctypes.cast(answer, pointer))
    try:
        torch._C._mps_is_on_macos_or_newer(below, 0)
    finally:
        replace(method, original)
    return not torch._C._mps_is_on_macos_or_newer(below, 0)
