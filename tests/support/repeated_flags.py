"""Arguments of commands in tests."""


def keep_last(arguments):
    """Returns the arguments without the flags that a later one sets again."""
    last = {argument.split("=")[0]: argument for argument in arguments if argument.startswith("--")}
    return [
        argument
        for argument in arguments
        if not argument.startswith("--") or last[argument.split("=")[0]] == argument
    ]
