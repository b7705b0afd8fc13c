"""Shared libraries read as files: what they need, define, and leave undefined.

Only the dynamic symbol table of 64-bit little-endian ELF files is read, which is what torch_npu's wheels hold. The
format is the System V ABI's, https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

from npuport.emulator.errors import EmulatorError

_DYNAMIC_SYMBOLS, _DYNAMIC = 11, 6  # section types SHT_DYNSYM, SHT_DYNAMIC
_NEEDED = 1  # dynamic tag DT_NEEDED
_UNDEFINED_SECTION = 0
_WEAK = 2
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_TAG = struct.Struct("<qQ")


@dataclass(frozen=True)
class SharedLibrary:
    """The dynamic names of one library.

    Attributes:
        needed: the libraries that it is linked to, by file name.
        defined: the symbols that it offers.
        undefined: the symbols that it must find elsewhere; weak ones, which may be missing, are left out.
    """

    needed: tuple[str, ...]
    defined: frozenset[str]
    undefined: frozenset[str]


def read_library(path: Path) -> SharedLibrary:
    """Read the dynamic symbols of a library; EmulatorError if it cannot be read."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _parse(data)
    except (OSError, ValueError, struct.error, IndexError) as error:
        raise EmulatorError(f"cannot read the shared library {path}: {error}") from error


def _parse(data: mmap.mmap) -> SharedLibrary:
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    sections = _sections(data)
    needed: list[str] = []
    defined: set[str] = set()
    undefined: set[str] = set()
    for _, kind, _, _, offset, size, link, _, _, _ in sections:
        names = sections[link]
        texts = data[names[4] : names[4] + names[5]]
        if kind == _DYNAMIC:
            tags = _TAG.iter_unpack(data[offset : offset + size])
            needed += [_text(texts, value) for tag, value in tags if tag == _NEEDED]
        elif kind == _DYNAMIC_SYMBOLS:
            for name, info, _, section, _, _ in _SYMBOL.iter_unpack(data[offset : offset + size]):
                if section != _UNDEFINED_SECTION:
                    defined.add(_text(texts, name))
                elif name and info >> 4 != _WEAK:
                    undefined.add(_text(texts, name))
    return SharedLibrary(tuple(needed), frozenset(defined), frozenset(undefined))


def _sections(data: mmap.mmap) -> list[tuple[int, ...]]:
    (start,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    return [_SECTION.unpack_from(data, start + size * index) for index in range(count)]


def _text(texts: bytes, start: int) -> str:
    return texts[start : texts.index(b"\0", start)].decode()
