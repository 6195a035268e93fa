"""Columns of a frame are views of it, and arrays of values can be written, as in pandas 1.

Since pandas 3, whatever is taken from a frame behaves like a copy, so `frame["a"].fillna(0,
inplace=True)` and `frame["a"][mask] = 0` change nothing, and `frame["a"].values` is read-only. Here
a column remembers its frame: what changes the column changes the frame, and the other way round.
pandas 3 derives frames without a copy, and copies them when something is written. For what is
written past it, this module does so.
"""

import contextlib
import functools
import warnings
import weakref
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Optional

import numpy as np

__all__ = ["install"]

# Where a frame keeps its columns by name, and a column its frame and name.
_COLUMNS, _FRAME = "_columns_taken", "_taken_from"


def install() -> None:
    """Makes columns views again."""
    import pandas as pd
    from pandas.core.generic import NDFrame
    from pandas.core.indexing import _LocationIndexer, _ScalarAccessIndexer

    # The first says that a change does not reach the frame; here it does. The others are about
    # later versions, for which old programs will not be changed.
    for name in ("ChainedAssignmentError", "PandasChangeWarning"):
        if hasattr(pd.errors, name):
            warnings.filterwarnings("ignore", category=getattr(pd.errors, name))
    frame: Any = pd.DataFrame
    series: Any = pd.Series
    base: Any = NDFrame
    frame._get_item = _take_column(frame._get_item)
    frame.__setitem__ = _set_in_frame(frame.__setitem__)
    for name in ("__setitem__", "update"):
        setattr(series, name, _write(getattr(series, name)))
    base._update_inplace = _replace(base._update_inplace)
    for owner in (_LocationIndexer, _ScalarAccessIndexer):
        owner.__setitem__ = _write(owner.__setitem__, lambda self: self.obj)
    for owner in (series, frame):
        owner.values = property(_make_writeable(owner.values.fget), doc=owner.values.__doc__)
        owner.to_numpy = _make_writeable(owner.to_numpy)
        owner.__array__ = _make_writeable(owner.__array__)
    index: Any = pd.Index
    index.values = property(_copy_unwriteable(index.values.fget), doc=index.values.__doc__)
    index.to_numpy = _copy_unwriteable(index.to_numpy)
    index.__array__ = _copy_unwriteable(index.__array__)


def _take_column(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _get_item(self: Any, item: Any) -> Any:
        columns = self.__dict__.get(_COLUMNS)
        known = None if columns is None else columns.get(item)
        if known is not None and known.name == item and _shares(known, self, item):
            return known
        column = original(self, item)
        if columns is None:
            columns = weakref.WeakValueDictionary()
            object.__setattr__(self, _COLUMNS, columns)
        columns[item] = column
        object.__setattr__(column, _FRAME, (weakref.ref(self), item))
        return column

    return _get_item


def _place_of(name: Any, frame: Any) -> Optional[int]:
    """Returns the number of the only column of a name; None if there is none, or several."""
    try:
        place = frame.columns.get_loc(name)
    except (KeyError, TypeError):
        return None
    return place if isinstance(place, int) else None


def _shares(column: Any, frame: Any, name: Any) -> bool:
    """Tells whether a column has the memory of the frame's column of this name."""
    place = _place_of(name, frame)
    if place is None or not column.index.is_(frame.index):
        return False
    manager = frame._mgr
    whole = manager.blocks[manager.blknos[place]].values
    one = column._mgr.blocks[0].values
    if not isinstance(one, np.ndarray) or not isinstance(whole, np.ndarray):
        other = manager.iget(place, track_ref=False).array
        return one is other or (type(one) is type(other) and _address(one) == _address(other))
    start = _address(whole) + int(manager.blklocs[place]) * whole.strides[0]
    return (
        _address(one) == start and one.dtype == whole.dtype and one.strides[0] == whole.strides[1]
    )


def _address(array: Any) -> Any:
    """Returns where an array is, or one that pandas has wrapped; NaN if that is unknown."""
    for name in ("_ndarray", "_codes", "_data"):
        array = array if isinstance(array, np.ndarray) else getattr(array, name, array)
    if not isinstance(array, np.ndarray):
        return float("nan")
    return array.__array_interface__["data"][0]


def _frame_of(column: Any) -> tuple[Any, Any]:
    """Returns the frame that a column is a view of, and its name there; or None, None."""
    reference, name = column.__dict__.get(_FRAME, (None, None))
    frame = reference and reference()
    if frame is None or not _shares(column, frame, name):
        return None, None
    return frame, name


def _views_of(frame: Any) -> list[tuple[Any, Any]]:
    """Returns the names and columns that are views of a frame."""
    columns = frame.__dict__.get(_COLUMNS)
    if not columns:
        return []
    return [(name, one) for name, one in list(columns.items()) if _shares(one, frame, name)]


@contextlib.contextmanager
def _write_through(frame: Any) -> Iterator[None]:
    """Lets the frame and its views be written in place, without a copy for each."""
    views = _views_of(frame)
    _own(frame, views)
    try:
        yield
    finally:
        views = [(name, one) for name, one in views if _shares(one, frame, name)]
        _view_again(frame, views, is_seen=True)


def _own(owner: Any, views: list[tuple[Any, Any]]) -> None:
    """Copies a frame or column if others than its views share its memory; pandas sees no views."""
    _view_again(owner, views, is_seen=False)
    if any(one.refs.has_reference() for one in owner._mgr.blocks):
        owner._mgr = owner._mgr.copy(deep=True)
        _view_again(owner, views, is_seen=False)


def _is_owned(frame: Any) -> bool:
    """Tells whether only views of a frame share its memory."""
    own = set(map(id, frame._mgr.blocks))
    own.update(id(one._mgr.blocks[0]) for one in list(frame.__dict__.get(_COLUMNS, {}).values()))
    return all(
        block is None or id(block) in own
        for one in frame._mgr.blocks
        for block in [reference() for reference in one.refs.referenced_blocks]
    )


def _view_again(frame: Any, views: list[tuple[Any, Any]], is_seen: bool) -> None:
    for name, column in views:
        column._mgr = frame._mgr.iget(_place_of(name, frame), track_ref=is_seen)


def _write(
    original: Callable[..., Any], find: Callable[[Any], Any] = lambda self: self
) -> Callable[..., Any]:
    """Returns a method that sets values of a frame or column, also for what shares the memory.

    Args:
      original: the method.
      find: returns the frame or column of its object.
    """

    @functools.wraps(original)
    def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        changed = find(self)
        if changed.ndim == 2:
            if not changed.__dict__.get(_COLUMNS):
                return original(self, *args, **kwargs)
            with _write_through(changed):
                return original(self, *args, **kwargs)
        frame, name = _frame_of(changed)
        if frame is None:
            return original(self, *args, **kwargs)
        with _write_through(frame):
            result = original(self, *args, **kwargs)
            _put(changed, frame, name)
        return result

    return write


def _set_in_frame(original: Callable[..., Any]) -> Callable[..., Any]:
    written = _write(original)

    @functools.wraps(original)
    def __setitem__(self: Any, key: Any, value: Any) -> None:
        if not isinstance(key, (Hashable, list)) or isinstance(key, slice):
            written(self, key, value)
            return
        views = _views_of(self)
        original(self, key, value)
        # A column that gets values of its type is the same one, with these values.
        for name, column in views:
            place = _place_of(name, self)
            if place is not None and len(column) == len(self):
                manager = self._mgr.iget(place)
                if manager.dtype == column.dtype:
                    column._mgr = manager

    return __setitem__


def _replace(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _update_inplace(self: Any, result: Any) -> None:
        frame, name = _frame_of(self) if self.ndim == 1 else (None, None)
        original(self, result)
        if frame is not None:
            _put(self, frame, name)

    return _update_inplace


def _put(column: Any, frame: Any, name: Any) -> None:
    """Sets the frame's column to one that has other memory than before."""
    if len(column) != len(frame) or _shares(column, frame, name):
        return
    if not column.index.is_(frame.index) and not column.index.equals(frame.index):
        return
    place = _place_of(name, frame)
    frame._iset_item_mgr(place, column._values, inplace=False)
    column._mgr = frame._mgr.iget(place)
    frame.__dict__[_COLUMNS][name] = column


def _make_writeable(original: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method that returns an array of values, which can be written."""

    @functools.wraps(original)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.ndim == 2:
            _join_blocks(self)
        array = original(self, *args, **kwargs)
        if not isinstance(array, np.ndarray) or array.flags.writeable:
            return array
        frame = self if self.ndim == 2 else _frame_of(self)[0]
        owner = self if frame is None else frame
        if not _is_owned(owner):
            with _write_through(owner):
                array = original(self, *args, **kwargs)
        try:
            array.flags.writeable = True
        except ValueError:
            return array.copy()
        return array

    return read


def _join_blocks(frame: Any) -> None:
    """Puts columns of one type into one array, so that a frame of them is a view of it."""
    blocks = frame._mgr.blocks
    if len(blocks) > 1 and len({one.dtype for one in blocks}) == 1:
        views = _views_of(frame)
        frame._mgr = frame._mgr.consolidate()
        if len(frame._mgr.blocks) == 1:
            _view_again(frame, views, is_seen=True)


def _copy_unwriteable(original: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method that returns a copy of the labels, where they must not be written."""

    @functools.wraps(original)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        array = original(self, *args, **kwargs)
        if isinstance(array, np.ndarray) and not array.flags.writeable:
            return array.copy()
        return array

    return read
