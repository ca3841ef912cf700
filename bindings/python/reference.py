"""Writes docs/python-reference.md: the public names of the package, with their signatures and docstrings, as the sources and stubs have them.

    python reference.py
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).parent / "python" / "wordline"
PAGE = Path(__file__).parent.parent.parent / "docs" / "python-reference.md"

GROUPS = {
    "Devices": ("Device", "Described", "presets"),
    "Workloads": ("Workload", "Pace", "workloads"),
    "Runs": ("run", "run_async", "Start", "Result", "load", "Handle", "Progress"),
    "Comparisons and charts": ("compare", "Comparison", "Figure", "COLUMN", "PAGE"),
    "Sessions": ("Session", "Standing", "Zone", "Op", "ANSWER"),
    "Studies": ("Study", "Plan", "StudyTable", "Row", "Cell", "Runs", "Task", "TaskResult", "carry_out", "Store", "Search", "Trial"),
    "Logs": ("Log",),
    "Designs": ("Design", "View", "Block", "Wearing", "Resting", "Failure", "Moved", "Written", "Arriving", "Random", "counter", "Counter", "contract"),
    "Tables of keys": ("Table", "Tables", "Value"),
    "Errors": ("Error", "Finding", "ConfigError", "TraceError", "DesignError", "ContractError", "Fault", "Interrupted", "Cancelled"),
}
"""All public names; those of a group in the order in which they are met."""

HEAD = """# Names in Python

The public names of the package `wordline`, as its sources have them; `help(wl.run)` shows the same. [The Python package](python.md) teaches their use. The keys of devices are attributes
of `Device`, with the meanings of [the keys](configuration.md), and the fields of a `Result` are [those of the JSON](report.md#the-fields-of-the-json).
"""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Sources:
    """Module that defines each public name."""

    def __init__(self) -> None:
        self.modules = {path.stem: ast.parse(path.read_text()) for path in sorted(FOLDER.glob("_*.py"))}
        self.modules["_native"] = ast.parse((FOLDER / "_native.pyi").read_text())
        init = self.modules["__init__"]
        self.public: list[str] = next(
            ast.literal_eval(node.value)
            for node in init.body
            if isinstance(node, ast.Assign) and _targets(node) == ["__all__"]
        )
        self.origin = {
            alias.name: node.module or ""
            for node in ast.walk(init)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }

    def definition(self, name: str) -> tuple[ast.stmt, str]:
        """Statement that defines a name, and the docstring of an assignment."""
        module = self.origin[name]
        while True:
            body = self.modules[module].body
            for node, text in _documented(body):
                if isinstance(node, ast.ClassDef | Function) and node.name == name:
                    return node, ""
                if _targets(node) == [name]:
                    return node, text
            # A module may pass on what the native one has.
            module = next(
                node.module or ""
                for node in body
                if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names)
            )

    def with_bases(self, owner: ast.ClassDef) -> ast.ClassDef:
        """A class with the members that it has of bases that are not public. The keys of devices are left out: they are
        those of the configuration file."""
        members, bases = list(owner.body), []
        for base in owner.bases:
            found = None if ast.unparse(base) in self.public else self._private(ast.unparse(base))
            if found is None:
                bases.append(base)
            else:
                whole = self.with_bases(found)
                members += whole.body
                bases += whole.bases
        return ast.ClassDef(owner.name, bases, owner.keywords, members, owner.decorator_list)

    def _private(self, name: str) -> ast.ClassDef | None:
        """A class of the package's modules by name."""
        every = (node for module, tree in self.modules.items() if module != "_keys" for node in tree.body)
        return next((node for node in every if isinstance(node, ast.ClassDef) and node.name == name), None)


def _targets(node: ast.stmt) -> list[str]:
    """Names that a statement assigns."""
    found = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in found if isinstance(target, ast.Name)]


def _documented(body: list[ast.stmt]) -> list[tuple[ast.stmt, str]]:
    """Statements, each with the text below it, which is its docstring."""
    return [(node, _text(after)) for node, after in zip(body, [*body[1:], None], strict=True)]


def _text(node: ast.stmt | None) -> str:
    """The text that a statement is; empty for all others."""
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
        case _:
            return ""


def markdown(docstring: str) -> str:
    """Converts a docstring to Markdown: double backquotes become single ones, and examples become blocks."""
    lines: list[str] = []
    example = False
    for line in _dedent(docstring):
        begins = line.startswith(">>>")
        if begins and not example:
            lines += ["```pycon"]
            example = True
        if example and not line:
            lines += ["```"]
            example = False
        lines.append(line if example else line.replace("``", "`"))
    return "\n".join([*lines, "```"] if example else lines).strip()


def _dedent(docstring: str) -> list[str]:
    first, *rest = docstring.strip().splitlines() or [""]
    least = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return [first, *(line[least:].rstrip() for line in rest)]


def cell(docstring: str) -> str:
    """A docstring for a cell of a table: one line, its first paragraph."""
    paragraph = markdown(docstring).split("\n\n")[0]
    return " ".join(paragraph.split()).replace("|", "\\|")


def signature(function: Function, *, bound: bool) -> str:
    """Signature of a function; of a method without `self`."""
    taken = ast.unparse(function.args)
    if bound:
        taken = re.sub(r"^(self|cls)(, /)?(, )?", "", taken)
    result = f" -> {ast.unparse(function.returns)}" if function.returns and function.name != "__init__" else ""
    return f"({taken}){result}"


def _decorators(function: Function) -> set[str]:
    return {ast.unparse(one).split("(")[0].split(".")[-1] for one in function.decorator_list}


def _is_shown(name: str) -> bool:
    """Whether a name of a class is public: the native part is not."""
    return not name.startswith("_") and name != "native"


def fields(owner: ast.ClassDef) -> list[tuple[str, str, str]]:
    """Fields and properties of a class: name, type, meaning."""
    found: list[tuple[str, str, str]] = []
    for node, text in _documented(owner.body):
        if isinstance(node, ast.AnnAssign) and _is_shown(_targets(node)[0]):
            found.append((_targets(node)[0], ast.unparse(node.annotation), text))
        elif isinstance(node, Function) and {"property", "cached_property"} & _decorators(node) and _is_shown(node.name):
            result = ast.unparse(node.returns) if node.returns else "Any"
            found.append((node.name, result, ast.get_docstring(node) or ""))
        elif isinstance(node, ast.Assign) and owner.name == "Op":
            found.append((_targets(node)[0], ast.unparse(node.value), ""))
    return found


def methods(owner: ast.ClassDef) -> list[Function]:
    """Public methods of a class with a docstring."""
    skipped = {"property", "cached_property", "setter", "overload"}
    own = [node for node in owner.body if isinstance(node, Function) and _is_shown(node.name)]
    return [node for node in own if not skipped & _decorators(node) and ast.get_docstring(node)]


def of_class(node: ast.ClassDef) -> str:
    """Section of a class."""
    init = next((one for one in node.body if isinstance(one, Function) and one.name == "__init__"), None)
    bases = [base for base in (ast.unparse(base) for base in node.bases) if base not in ("NamedTuple", "TypedDict")]
    below = f"({', '.join(bases)})" if bases else ""
    head = f"{node.name}{signature(init, bound=True)}" if init else f"class {node.name}{below}"
    text = f"\n### {node.name}\n\n```text\n{head}\n```\n\n{markdown(ast.get_docstring(node) or '')}\n"
    if rows := fields(node):
        text += "\n| name | type | meaning |\n|---|---|---|\n"
        text += "".join(f"| `{name}` | `{kind.replace('|', chr(92) + '|')}` | {cell(meaning)} |\n" for name, kind, meaning in rows)
    for method in methods(node):
        mark = "classmethod " if "classmethod" in _decorators(method) else ""
        name = f"{mark}{node.name}.{method.name}{signature(method, bound=True)}"
        text += f"\n```text\n{name}\n```\n\n{markdown(ast.get_docstring(method) or '')}\n"
    return text


def page() -> str:
    """The page."""
    sources = Sources()
    listed = [name for group in GROUPS.values() for name in group]
    assert sorted(listed) == sorted(sources.public), f"`GROUPS` has other names than the package: {set(listed) ^ set(sources.public)}"
    text = HEAD
    for group, names in GROUPS.items():
        text += f"\n## {group}\n"
        for name in names:
            node, meaning = sources.definition(name)
            if isinstance(node, ast.ClassDef):
                text += of_class(sources.with_bases(node))
            elif isinstance(node, Function):
                text += f"\n### {name}\n\n```text\n{name}{signature(node, bound=False)}\n```\n\n{markdown(ast.get_docstring(node) or '')}\n"
            else:
                text += f"\n### {name}\n\n```text\n{ast.unparse(node)}\n```\n\n{markdown(meaning)}\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page())
