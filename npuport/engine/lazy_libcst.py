"""``libcst`` as ``cst``, imported when the first fix needs it: it takes longer to import than a whole check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import libcst as cst
else:

    class _Lazy:
        def __getattr__(self, name: str) -> Any:
            import libcst

            return getattr(libcst, name)

    cst = _Lazy()

__all__ = ["cst"]
