"""What a Python program may use: the names in ``__all__``, imported when the first of them is used (docs/python.md).

They stay as they are from version to version, and so do the fields of the values that come back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a checker sees the names where they are defined
    from zorkgpt.api.functions import *  # noqa: F403
    from zorkgpt.api.functions import __all__ as __all__
else:

    def __getattr__(name: str) -> object:
        from importlib import import_module  # noqa: PLC0415

        functions = import_module(f"{__name__}.functions")
        if name != "__all__" and name not in functions.__all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(functions, name)

    def __dir__() -> object:
        return __getattr__("__all__")
