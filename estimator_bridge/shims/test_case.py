"""Restores the assertions of `tf.test.TestCase` that Python 3.12 removed from `unittest`.

TensorFlow 2.15, the last with Estimators, runs on Pythons that have them, and tests of Estimators
use them: the testing modules of the package itself call `assertEquals`.
"""

from .. import private_tf

__all__ = ["apply", "restore"]

# The removed name -> the remaining one.
_RENAMED = {
    "assertEquals": "assertEqual",
    "assertNotEquals": "assertNotEqual",
    "assertAlmostEquals": "assertAlmostEqual",
    "assertNotAlmostEquals": "assertNotAlmostEqual",
    "assertRegexpMatches": "assertRegex",
    "assertNotRegexpMatches": "assertNotRegex",
    "assertRaisesRegexp": "assertRaisesRegex",
    "assert_": "assertTrue",
    "failUnless": "assertTrue",
    "failIf": "assertFalse",
    "failUnlessEqual": "assertEqual",
    "failIfEqual": "assertNotEqual",
    "failUnlessRaises": "assertRaises",
}


def _renamed(old: str, new: str):
    def assertion(self, *args, **kwargs):
        # The assertion is read from the instance, because TensorFlow's class overrides some.
        return getattr(self, new)(*args, **kwargs)

    assertion.__name__ = old
    assertion.__doc__ = f"The same as {new}."
    return assertion


def restore(test_case: type) -> None:
    """Adds the removed names that a class of test cases lacks.

    Args:
      test_case: the class.
    """
    for old, new in _RENAMED.items():
        if not hasattr(test_case, old):
            setattr(test_case, old, _renamed(old, new))


def apply() -> None:
    """Restores the assertions in `tf.test.TestCase`."""
    restore(private_tf.test_util.TensorFlowTestCase)
