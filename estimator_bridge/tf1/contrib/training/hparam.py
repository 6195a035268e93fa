"""HParams: hyperparameters with the types of their defaults, parsed from `name=value,...`."""

import json
import numbers
import re

from estimator_bridge.tf1.unsupported import NotSuppliedError, advise

__all__ = ["HParams", "parse_values"]

_ITEM = re.compile(
    r"""
    (?P<name>[a-zA-Z][\w.]*)
    (?:\[\s*(?P<index>\d+)\s*\])?
    \s*=\s*
    (?: \[(?P<list>[^\]]*)\] | (?P<value>[^,\[]*) )
    \s*(?:$|,)\s*
    """,
    re.VERBOSE,
)


def _cast(name, kind, text, whole):
    """Converts text to a type; raises ValueError if the text does not fit."""
    text = text.strip() if kind is not str else text
    try:
        if kind is bool:
            known = {
                "true": True,
                "True": True,
                "1": True,
                "false": False,
                "False": False,
                "0": False,
            }
            return known[text]
        if kind is int and "." in text:
            raise ValueError
        return kind(text)
    except (KeyError, ValueError):
        message = f"{name}: expected the type {kind.__name__}, got {text!r} in {whole!r}"
        raise ValueError(message) from None


def parse_values(values, type_map, ignore_unknown=False):
    """Parses hyperparameters such as `a=1,b=[2,3],c[0]=x`.

    Args:
      values: str, the text.
      type_map: {name: type}; for lists the type of the elements.
      ignore_unknown: whether to skip names that are not in `type_map`.

    Returns:
      {name: value, list of values, or {index: value}}.

    Raises:
      ValueError: the text is malformed, a name is unknown or repeated, or a value has the wrong
        type.
    """
    found = {}
    position = 0
    while position < len(values):
        match = _ITEM.match(values, position)
        if not match:
            raise ValueError(
                f"hyperparameters: {values[position:]!r} is malformed; use name=value,..."
            )
        position = match.end()
        name, index = match["name"], match["index"]
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"{name}: there is no such hyperparameter")
        kind = type_map[name]
        if match["list"] is not None:
            if index is not None:
                raise ValueError(
                    f"{name}[{index}]: a list cannot be assigned to an element, in {values!r}"
                )
            parts = [part for part in re.split(r"[ ,]", match["list"]) if part]
            value = [_cast(name, kind, part, values) for part in parts]
        else:
            value = _cast(name, kind, match["value"], values)
        if index is not None:
            slots = found.setdefault(name, {})
            if not isinstance(slots, dict) or int(index) in slots:
                raise ValueError(f"{name}: assigned more than once in {values!r}")
            slots[int(index)] = value
        elif name in found:
            raise ValueError(f"{name}: assigned more than once in {values!r}")
        else:
            found[name] = value
    return found


class HParams:
    """Hyperparameters as attributes.

        hparams = HParams(learning_rate=0.1, hidden=[64, 32])

    A hyperparameter keeps the type of its first value.

    Args:
      hparam_def: not supported; must be None.
      model_structure: any object; see `get_model_structure`.
      **kwargs: names and values of the hyperparameters.

    Raises:
      ValueError: `hparam_def` is given, a name is reserved, or a list is empty.
    """

    _HAS_DYNAMIC_ATTRIBUTES = True

    def __init__(self, hparam_def=None, model_structure=None, **kwargs):
        if hparam_def is not None:
            raise ValueError(
                "HParams: hparam_def (a protocol buffer) is not supported; pass name=value"
            )
        self._hparam_types = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name, value):
        """Adds a hyperparameter.

        Args:
          name: str.
          value: number, str, bool or list of them; it sets the type.

        Raises:
          ValueError: the name is reserved or in use, or the list is empty.
        """
        if getattr(self, name, None) is not None:
            raise ValueError(f"{name}: the name is reserved or in use")
        if isinstance(value, (list, tuple)):
            if not value:
                raise ValueError(
                    f"{name}: the list is empty, so the type of its elements is unknown"
                )
            self._hparam_types[name] = (type(value[0]), True)
        else:
            self._hparam_types[name] = (type(value), False)
        setattr(self, name, value)

    def set_hparam(self, name, value):
        """Sets a known hyperparameter.

        Args:
          name: str.
          value: value of the hyperparameter's type.

        Raises:
          KeyError: the name is unknown.
          ValueError: the value has another type.
        """
        kind, is_list = self._hparam_types[name]
        if isinstance(value, list):
            if not is_list:
                raise ValueError(f"{name}: expected a single value, got a list")
            setattr(self, name, [self._converted(name, kind, one) for one in value])
        else:
            if is_list:
                raise ValueError(f"{name}: expected a list, got a single value")
            setattr(self, name, self._converted(name, kind, value))

    @staticmethod
    def _converted(name, kind, value):
        message = f"{name}: expected the type {kind.__name__}, got {value!r}"
        # A hyperparameter whose value is None accepts any type.
        if kind is type(None):
            return value
        if value is None:
            raise ValueError(message)
        if isinstance(value, bool) != (kind is bool) or isinstance(value, str) != (kind is str):
            raise ValueError(message)
        if issubclass(kind, numbers.Integral) and not isinstance(value, numbers.Integral):
            raise ValueError(message)
        if not issubclass(kind, numbers.Number) and isinstance(value, numbers.Number):
            raise ValueError(message)
        return kind(value)

    def del_hparam(self, name):
        """Removes a hyperparameter if it exists.

        Args:
          name: str.
        """
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values):
        """Overrides values from text.

        Args:
          values: str such as `name=value,...`; see `parse_values`.

        Returns:
          self.

        Raises:
          ValueError: see `parse_values`.
        """
        types = {name: kind for name, (kind, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, types))

    def override_from_dict(self, values_dict):
        """Overrides values from a dict.

        Args:
          values_dict: {name: value}, or {name: {index: value}} for elements of lists.

        Returns:
          self.
        """
        for name, value in values_dict.items():
            if isinstance(value, dict):
                changed = list(getattr(self, name))
                for index, element in value.items():
                    changed[index] = element
                value = changed
            self.set_hparam(name, value)
        return self

    def set_from_map(self, values_map):
        """Overrides values from a dict; old name of `override_from_dict`.

        Args:
          values_map: {name: value}, or {name: {index: value}} for elements of lists.

        Returns:
          self.
        """
        return self.override_from_dict(values_map)

    def to_proto(self, export_scope=None):
        """Is refused: the protocol buffer of hyperparameters left TensorFlow.

        Args:
          export_scope: not used.

        Raises:
          NotSuppliedError: always.
        """
        raise NotSuppliedError(advise("tf.contrib.training.HParams.to_proto", "use to_json"))

    @staticmethod
    def from_proto(hparam_def, import_scope=None):
        """Is refused: the protocol buffer of hyperparameters left TensorFlow.

        Args:
          hparam_def: not used.
          import_scope: not used.

        Raises:
          NotSuppliedError: always.
        """
        raise NotSuppliedError(
            advise("tf.contrib.training.HParams.from_proto", "use HParams().parse_json")
        )

    def set_model_structure(self, model_structure):
        """Stores an object for the model's own use.

        Args:
          model_structure: any object.
        """
        self._model_structure = model_structure

    def get_model_structure(self):
        """Returns the object from `set_model_structure`."""
        return self._model_structure

    def to_json(self, indent=None, separators=None, sort_keys=False):
        """Returns the values as JSON, without functions.

        Args:
          indent: indentation of json.dumps.
          separators: separators of json.dumps.
          sort_keys: whether to sort the names.

        Returns:
          str.
        """
        values = {name: value for name, value in self.values().items() if not callable(value)}
        return json.dumps(values, indent=indent, separators=separators, sort_keys=sort_keys)

    def parse_json(self, values_json):
        """Overrides values from JSON.

        Args:
          values_json: str, a JSON object.

        Returns:
          self.
        """
        return self.override_from_dict(json.loads(values_json))

    def values(self):
        """Returns {name: value}."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key, default=None):
        """Returns the value of a hyperparameter.

        Args:
          key: str, the name.
          default: value for an unknown name.

        Returns:
          The value, or `default`.

        Raises:
          ValueError: `default` has another type than the hyperparameter.
        """
        if key not in self._hparam_types:
            return default
        kind, is_list = self._hparam_types[key]
        if default is not None:
            if is_list != isinstance(default, list):
                raise ValueError(
                    f"{key}: the type is {kind.__name__} (list: {is_list}), the default "
                    f"{default!r} has another"
                )
            for one in default if is_list else [default]:
                self._converted(key, kind, one)
        return getattr(self, key)

    def __contains__(self, key):
        return key in self._hparam_types

    def __str__(self):
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self):
        return f"{type(self).__name__}({sorted(self.values().items())})"
