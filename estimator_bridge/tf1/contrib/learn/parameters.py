"""The parameters of an estimator as scikit-learn reads and sets them."""

__all__ = ["SettableParameters"]


class SettableParameters:
    """Adds `get_params` and `set_params`: the public attributes, and `params` of an Estimator."""

    def get_params(self, deep=True):
        """Returns the parameters.

        Args:
          deep: whether to add the parameters of parameters, as `name__parameter`.

        Returns:
          {name: value}.
        """
        found = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        if hasattr(self, "_params"):
            found["params"] = self._params
        if deep:
            for name, value in list(found.items()):
                inner = value.get_params() if hasattr(value, "get_params") else {}
                found.update((f"{name}__{key}", of_inner) for key, of_inner in inner.items())
        return found

    def set_params(self, **params):
        """Sets parameters.

        Args:
          **params: values by name; `name__parameter` sets a parameter of a parameter.

        Returns:
          self.

        Raises:
          ValueError: there is no such parameter.
        """
        for name, value in params.items():
            owner, _, inner = name.partition("__")
            known = self.get_params(deep=False)
            if owner not in known:
                raise ValueError(
                    f"set_params: {type(self).__name__} has no parameter {owner!r}; it has"
                    f" {sorted(known)}"
                )
            if inner:
                known[owner].set_params(**{inner: value})
            else:
                setattr(self, "_params" if owner == "params" else owner, value)
        return self
