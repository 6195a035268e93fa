"""`tf.contrib.learn.ExportStrategy`."""

import collections
import inspect

__all__ = ["ExportStrategy"]


class ExportStrategy(
    collections.namedtuple("ExportStrategy", "name export_fn strip_default_attrs")
):
    """A named export function.

    Args:
      name: str, name of the exports' directory.
      export_fn: function of (estimator, export_path[, checkpoint_path][, eval_result]) that returns
        the export's directory.
      strip_default_attrs: whether to strip default attributes of operations, or None.
    """

    def __new__(cls, name, export_fn, strip_default_attrs=None):
        return super().__new__(cls, name, export_fn, strip_default_attrs)

    def export(self, estimator, export_path, checkpoint_path=None, eval_result=None, **kwargs):
        """Exports a model.

        Args:
          estimator: tf.estimator.Estimator.
          export_path: base directory of the exports.
          checkpoint_path: prefix of the checkpoint, or None for the latest.
          eval_result: {metric: value} of the checkpoint, or None.
          **kwargs: ignored.

        Returns:
          Directory of the export.
        """
        del kwargs
        known = inspect.signature(self.export_fn).parameters
        given = {"checkpoint_path": checkpoint_path, "eval_result": eval_result}
        given["strip_default_attrs"] = self.strip_default_attrs
        return self.export_fn(
            estimator, export_path, **{name: v for name, v in given.items() if name in known}
        )
