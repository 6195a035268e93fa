"""The flags of trainer.prediction.command."""

import pytest

from trainer.errors import UserError
from trainer.prediction import command as predict


@pytest.mark.quick
def test_the_version_of_a_program_is_checked_and_changes_nothing():
    flags = ["--export=job", "--row={}"]
    values = predict.parse([*flags, "--as=2.8.4"])
    assert values.export == "job" and values.row == ["{}"]
    with pytest.raises(UserError, match=r"^--as: no such TensorFlow to run as: '2\.30'"):
        predict.parse([*flags, "--as=2.30"])
