"""``python.md`` from docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from types import ModuleType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from tools.reference.markdown import GENERATED, first_paragraph, prose

#: Documented modules -> names; None: the module's ``__all__``, else its public classes and
#: functions.
MODULES: dict[str, tuple[str, ...] | None] = {
    "hsd_viz": None,
    "hsd_viz.engine": ("LocalEngine", "prepare"),
    "hsd_viz.measure.audit.exact": ("Task", "exact"),
}


def python_reference() -> str:
    """Return the reference of the public modules as Markdown."""
    parts = ["# Python API", GENERATED, "Docstrings have the details: `help(hsd.Trace.save)`."]
    seen: set[str] = set()
    for name, names in MODULES.items():
        module = importlib.import_module(name)
        parts += [f"## `{name}`", first_paragraph(inspect.getdoc(module) or "")]
        for public in names or getattr(module, "__all__", None) or _public(module):
            parts += _entry(getattr(module, public), public, seen)
    return "\n\n".join(part for part in parts if part) + "\n"


def _public(module: ModuleType) -> list[str]:
    """Return the public classes and functions that a module defines, in order."""
    tree = ast.parse(inspect.getsource(module))
    names = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name[0] != "_":
            names.append(node.name)
    return names


def _entry(thing: object, name: str, seen: set[str]) -> Iterator[str]:
    """Yield the documentation of a class, function or module; nothing for values and for what
    was documented before.
    """
    if inspect.ismodule(thing):
        if thing.__name__ not in MODULES:
            yield f"### `{name}`"
            summary = first_paragraph(inspect.getdoc(thing) or "")
            yield f"{summary} `dir(hsd.{name})` lists its names."
        return
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        return
    key = f"{thing.__module__}.{thing.__qualname__}"
    if key in seen:
        return
    seen.add(key)
    module = importlib.import_module(thing.__module__)
    tree = _Numbers(vars(module)).visit(ast.parse(inspect.getsource(module)))
    named = (node for node in tree.body if getattr(node, "name", None) == thing.__qualname__)
    definition = next(named, None)
    text = inspect.getdoc(thing) or ""
    if "__signature__" in vars(thing):
        # A dataclass declares the parameters: they are not in the source of a function.
        definition = _definition(name, inspect.signature(thing))
    if isinstance(definition, ast.ClassDef):
        yield from _class(definition)
    elif isinstance(definition, ast.FunctionDef):
        yield f"### `{definition.name}`"
        yield _code(_call(definition.name, definition))
        yield first_paragraph(text)
        yield from _sections(text)


class _Numbers(ast.NodeTransformer):
    """Replaces the names of constants by their numbers, which a reader of defaults looks for."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self._values.get(node.id)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return ast.Constant(value) if is_number else node


def _definition(name: str, signature: inspect.Signature) -> ast.FunctionDef:
    """Return a signature as the definition of a function without a body."""
    parts = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        part = f"{parameter.name}: {type_text(parameter.annotation)}"
        if parameter.default is not parameter.empty:
            part += f"={parameter.default!r}"
        parts.append(part)
    returned = ""
    if signature.return_annotation is not None:
        returned = f" -> {type_text(signature.return_annotation)}"
    source = f"def {name}({', '.join(parts)}){returned}: ..."
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.FunctionDef)
    return definition


def type_text(annotation: Any) -> str:
    """Return a type as it is written in a signature, without the modules of its names."""
    if isinstance(annotation, str):
        return annotation
    if annotation in (None, NoneType):
        return "None"
    if annotation is Ellipsis:
        return "..."
    arguments = get_args(annotation)
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        return " | ".join(map(type_text, arguments))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    if isinstance(annotation, list):
        return f"[{', '.join(map(type_text, annotation))}]"
    if not arguments:
        return annotation.__name__
    return f"{origin.__name__}[{', '.join(map(type_text, arguments))}]"


def _class(node: ast.ClassDef) -> Iterator[str]:
    """Yield a class with its first paragraph, and a line for each method."""
    methods = {}
    fields = []
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            methods[part.name] = part
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            is_private = part.target.id.startswith("_") and part.target.id != "_"
            if not is_private:
                fields.append(f"    {ast.unparse(part)}")
    yield f"### `{node.name}`"
    if "__init__" in methods:
        yield _code(_call(node.name, methods["__init__"]))
    elif any("dataclass" in ast.unparse(d) for d in node.decorator_list):
        yield _code("\n".join([f"class {node.name}:", *fields]))
    text = ast.get_docstring(node) or ""
    yield first_paragraph(text)
    yield from _sections(text)
    lines = []
    for method in methods.values():
        summary = ast.get_docstring(method)
        if method.name[0] != "_" and summary:
            is_property = any(ast.unparse(d).endswith("property") for d in method.decorator_list)
            arguments = "" if is_property else f"({_arguments(method)})"
            lines.append(f"- `{method.name}{arguments}`: {_sentence(summary)}")
    yield "\n".join(lines)


def _sections(text: str) -> Iterator[str]:
    """Yield the arguments, fields and errors of a docstring as lists."""
    for title in ("Args", "Attributes", "Raises"):
        section = re.search(rf"^{title}:\n((?:    .*\n?)+)", text, re.M)
        if section is None:
            continue
        lines = []
        for entry in re.split(r"\n(?=    \S)", section[1].rstrip()):
            name, _, meaning = " ".join(entry.split()).partition(": ")
            label = "raises " if title == "Raises" else ""
            lines.append(f"- {label}`{name.strip('`')}`: {prose(meaning)}")
        yield "\n".join(lines)


def _arguments(node: ast.FunctionDef) -> str:
    """Return the names of a method's arguments."""
    names = []
    for argument in [*node.args.args, *node.args.kwonlyargs]:
        if argument.arg not in ("self", "cls"):
            names.append(argument.arg)
    if node.args.kwarg:
        names.append(f"**{node.args.kwarg.arg}")
    return ", ".join(names)


def _sentence(text: str) -> str:
    return re.split(r"(?<=\.) (?=[A-Z])", " ".join(first_paragraph(text).split()), maxsplit=1)[0]


def _call(name: str, node: ast.FunctionDef) -> str:
    """Return the signature, with one argument per line where it is long."""
    arguments = re.sub(r"^(self|cls)(, |$)", "", ast.unparse(node.args))
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    if len(name + arguments + returns) < 100:
        return f"{name}({arguments}){returns}"
    lines = [""]
    depth = 0
    for part in re.split(r"(, |[][(){}])", arguments):
        depth += (part in "([{") - (part in ")]}") if part else 0
        if part == ", " and not depth:
            lines.append("")
        else:
            lines[-1] += part
    return "\n".join([f"{name}(", *(f"    {line}," for line in lines), f"){returns}"])


def _code(text: str) -> str:
    return f"```python\n{text}\n```"
