"""`tf.contrib.learn.ExportStrategy`."""

import collections
import inspect

__all__ = ["ExportStrategy"]


class ExportStrategy(
    collections.namedtuple("ExportStrategy", "name export_fn strip_default_attrs")
):
    """What to export, and how: a name and export_fn(estimator, export_path[, checkpoint_path][,
    eval_result]).
    """

    def __new__(cls, name, export_fn, strip_default_attrs=None):
        return super().__new__(cls, name, export_fn, strip_default_attrs)

    def export(self, estimator, export_path, checkpoint_path=None, eval_result=None, **kwargs):
        """Exports; returns the export's directory."""
        del kwargs
        known = inspect.signature(self.export_fn).parameters
        given = {"checkpoint_path": checkpoint_path, "eval_result": eval_result}
        given["strip_default_attrs"] = self.strip_default_attrs
        return self.export_fn(
            estimator, export_path, **{name: v for name, v in given.items() if name in known}
        )
