"""Which kinds there are: every subclass of Expectation in the modules of this package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

import ibaccept.expect
from ibaccept.expect.base import Expectation


@cache
def kinds() -> Mapping[str, type[Expectation]]:
    """Every kind by its name, in alphabetical order. A new class in a module here is enough.

    Raises:
        TypeError: two classes with one kind.
    """
    found: dict[str, type[Expectation]] = {}
    for module in pkgutil.iter_modules(ibaccept.expect.__path__, "ibaccept.expect."):
        importlib.import_module(module.name)
    for cls in _subclasses(Expectation):
        name = cls.kind_name()
        if name is None or not cls.__module__.startswith("ibaccept.expect."):
            continue
        if name in found:
            raise TypeError(f"{cls.__name__} and {found[name].__name__} both are kind {name!r}")
        found[name] = cls
    return MappingProxyType(dict(sorted(found.items())))


def _subclasses(cls: type[Expectation]) -> Iterator[type[Expectation]]:
    for sub in cls.__subclasses__():
        yield sub
        yield from _subclasses(sub)


def example(cls: type[Expectation]) -> str:
    """The YAML example of a kind's docstring.

    Raises:
        TypeError: the docstring has none.
    """
    _, fence, rest = (inspect.getdoc(cls) or "").partition("```yaml\n")
    text, end, _ = rest.partition("```")
    if not fence or not end:
        raise TypeError(f"the docstring of {cls.__name__} has no ```yaml example")
    return text
