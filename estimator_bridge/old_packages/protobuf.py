"""Modules `*_pb2.py` that protoc before 3.19 generated, which protobuf 4 and later refuse.

Such a module creates each descriptor by a call. It also contains the whole file in serialized form,
of which today's protobuf makes the same messages.
"""

import ast
import importlib.abc
import importlib.machinery
import sys

__all__ = ["install"]

# Their own modules are of the installed protobuf, and many.
_CURRENT = frozenset(["google", "grpc", "opentelemetry", "tensorboard", "tensorflow"])
_SIGN = b"_descriptor.FileDescriptor("


def install() -> None:
    """Makes imports find such modules; all others are imported as before."""
    sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if not fullname.endswith("_pb2") or fullname.partition(".")[0] in _CURRENT:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        loader = spec and spec.loader
        if type(loader) is importlib.machinery.SourceFileLoader and _is_refused(loader.path):
            spec.loader = _Loader(fullname, loader.path)
            return spec
        return None


def _is_refused(path) -> bool:
    from google.protobuf import __version__

    if int(__version__.partition(".")[0]) < 4:
        return False
    with open(path, "rb") as file:
        return _SIGN in file.read()


class _Loader(importlib.machinery.SourceFileLoader):
    """Makes the messages, enumerations and extensions of a module of its serialized file."""

    def exec_module(self, module):
        from google.protobuf import descriptor_pool
        from google.protobuf.internal import builder

        tree = ast.parse(self.get_data(self.path), self.path)
        # The modules of the files that this one imports.
        needed = [node for node in tree.body if _imports_messages(node)]
        exec(compile(ast.Module(needed, []), self.path, "exec"), module.__dict__)  # noqa: S102
        pool = descriptor_pool.Default()
        module.DESCRIPTOR = pool.AddSerializedFile(_serialized_file(tree, self.path))
        builder.BuildMessageAndEnumDescriptors(module.DESCRIPTOR, module.__dict__)
        builder.BuildTopDescriptorsAndMessages(module.DESCRIPTOR, module.__name__, module.__dict__)


def _imports_messages(node) -> bool:
    if isinstance(node, ast.ImportFrom):
        names = [node.module or "", *(one.name for one in node.names)]
    elif isinstance(node, ast.Import):
        names = [one.name for one in node.names]
    else:
        return False
    return any(name.endswith("_pb2") for name in names)


def _serialized_file(tree, path) -> bytes:
    """Returns the argument serialized_pb of the module's FileDescriptor."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "FileDescriptor":
            for argument in node.keywords:
                if argument.arg == "serialized_pb":
                    # `b"..."`, or `_b("...")`, which encodes it.
                    literal = argument.value
                    value = literal.args[0] if isinstance(literal, ast.Call) else literal
                    content = ast.literal_eval(value)
                    return content.encode("latin1") if isinstance(content, str) else content
    raise ImportError(f"{path}: no serialized file; generate it anew with protoc", path=path)
