"""The declarations of a whole program, and how names, members, bases and methods are found among them."""

from __future__ import annotations

from collections.abc import Iterable

from npuport.analysis.flow.declarations import Class, Function, Scope, library
from npuport.analysis.flow.joining import join
from npuport.analysis.flow.linking import Linker
from npuport.analysis.flow.value import CLASS, FILE, IMPORT, LIBRARY, Atom, Value
from npuport.analysis.flow.vocabulary import BUILTIN_NAMES, STAR_NAMES


class Declared:
    """The files of a program with their functions and classes.

    Attributes:
        linker: says what imports mean.
        scopes: the files by key; ``functions`` and ``classes`` likewise.
        timing_names: names of functions that answer whether it is time for something.
    """

    def __init__(self, scopes: Iterable[Scope], linker: Linker) -> None:
        self.linker = linker
        self.scopes = {scope.key: scope for scope in scopes}
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, Class] = {}
        self.timing_names: frozenset[str] = frozenset()
        self._methods: dict[tuple[str, str], list[Function]] = {}
        self._owners: dict[tuple[str, str], set[str]] = {}
        self._lineages: dict[str, tuple[list[Class], frozenset[str]]] = {}
        self._heirs: dict[str, list[Class]] | None = None
        for scope in self.scopes.values():
            self._add(scope)

    def _add(self, scope: Scope) -> None:
        for function in scope.functions:
            self.functions[function.key] = function
        for declared in scope.classes:
            self.classes[declared.key] = declared

    def index_methods(self) -> None:
        """Note which classes have methods and attributes of a name; to be called when files or components change."""
        self._methods.clear()
        self._owners.clear()
        self.timing_names = frozenset(f.name for f in self.functions.values() if f.asks_for_time)
        for scope in self.scopes.values():
            for declared in scope.classes:
                for name, key in declared.methods.items():
                    self._methods.setdefault((scope.component, name), []).append(self.functions[key])
                for name in declared.attributes:
                    self._owners.setdefault((scope.component, name), set()).add(declared.key)

    def methods_named(self, file: str, name: str) -> list[Function]:
        """The methods of a name among the files that imports connect with ``file``."""
        return self._methods.get((self.scopes[file].component, name), [])

    def owners_of(self, file: str, name: str) -> set[str]:
        """Keys of the classes that have an attribute of this name, likewise."""
        return self._owners.get((self.scopes[file].component, name), set())

    def global_name(self, file: str, name: str, seen: tuple[str, ...] = ()) -> Value | None:
        """A global or builtin name of a file; imports from other files are not followed."""
        scope = self.scopes[file]
        value = scope.names.get(name)
        if value is not None:
            return value
        for source, dotted in scope.stars:
            if source is not None:
                if source in self.scopes and source not in seen:
                    value = self.global_name(source, name, (*seen, file))
                    if value is not None:
                        return value
            elif name in STAR_NAMES.get(dotted, ()):
                return library(f"{dotted}.{name}")
        if name in BUILTIN_NAMES and not seen:
            return library(f"builtins.{name}")
        return None

    def followed(self, value: Value, depth: int = 0) -> Value:
        """The value with imported names looked up in their files."""
        imported = value.get(IMPORT)
        if imported is None or depth > 5:
            return value
        result: Value | None = Value(*(atom for kind, atom in value.atoms.items() if kind != IMPORT))
        for ref in imported.refs:
            file, _, name = ref.partition("\0")
            found = self.global_name(file, name, ("",)) if file in self.scopes else None
            if found is not None:
                result = join(result, self.followed(found, depth + 1))
        return result if result is not None else value

    def named_statically(self, file: str, dotted: str) -> Value | None:
        """What a dotted text means at a file's module level: classes, files and libraries only."""
        name, *attributes = dotted.split(".")
        value = self.global_name(file, name)
        for attribute in attributes:
            value = self.followed(value) if value is not None else None
            if value is None:
                return None
            value = self._member(value, attribute)
        return self.followed(value) if value is not None else None

    def _member(self, value: Value, name: str) -> Value | None:
        for atom in value.atoms.values():
            if atom.kind == LIBRARY:
                return library(f"{next(iter(atom.refs))}.{name}")
            if atom.kind == FILE:
                return self.member_of_file(next(iter(atom.refs)), name)
        return None

    def member_of_file(self, file: str, name: str) -> Value | None:
        """A name of a module of the program: a global, or a module below it."""
        found = self.global_name(file, name, ("",)) if file in self.scopes else None
        if found is not None:
            return self.followed(found)
        below = self.linker.resolve(file, name, 1) if file.endswith("__init__.py") else None
        return Value(Atom(FILE, refs=frozenset({below}))) if below is not None else None

    def lineage(self, key: str) -> list[Class]:
        """A class and its bases within the program, nearest first."""
        return self._lineage(key)[0]

    def library_bases(self, key: str) -> frozenset[str]:
        """Dotted names of the library classes that a class descends from."""
        return self._lineage(key)[1]

    def _lineage(self, key: str) -> tuple[list[Class], frozenset[str]]:
        known = self._lineages.get(key)
        if known is not None:
            return known
        own = self.classes.get(key)
        if own is None:  # a new text does not have it any more
            return [], frozenset()
        line: list[Class] = [own]
        outside: set[str] = set()
        self._lineages[key] = (line, frozenset())  # a class that inherits itself ends here
        for base in own.bases:
            value = self.named_statically(own.file, base)
            for atom in value.atoms.values() if value is not None else ():
                if atom.kind == CLASS:
                    for ref in atom.refs:
                        if ref in self.classes:
                            above, libraries = self._lineage(ref)
                            line += (entry for entry in above if entry not in line)
                            outside |= libraries
                elif atom.kind == LIBRARY:
                    outside |= atom.refs
        self._lineages[key] = (line, frozenset(outside))
        return self._lineages[key]

    def heirs(self, key: str) -> list[Class]:
        """The classes of the program that descend from a class."""
        if self._heirs is None:
            self._heirs = {}
            for declared in self.classes.values():
                for above in self.lineage(declared.key)[1:]:
                    self._heirs.setdefault(above.key, []).append(declared)
        return self._heirs.get(key, [])

    def method(self, key: str, name: str) -> Function | None:
        """The method that an instance of a class has under a name."""
        for declared in self.lineage(key):
            found = declared.methods.get(name)
            if found is not None:
                return self.functions[found]
        return None
