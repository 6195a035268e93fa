"""The program that the launcher of a Dataflow flex template runs.

The command line contains the flags of a command and the options of Beam. One of these options,
--template_location, names the file for the pipeline.
"""

import runpy
import shlex
import sys


def split_words(words: list[str]) -> list[str]:
    """Returns the flags of the command; --beam_options contains the options of Beam.

    Args:
        words: flags of the command, and options of Beam.
    """
    from apache_beam.options.pipeline_options import PipelineOptions

    known = PipelineOptions([]).get_all_options()
    own: list[str] = []
    options: list[str] = []
    for word in words:
        name = word.lstrip("-").partition("=")[0]
        (options if name in known else own).append(word)
    return [*own, "--engine=beam", f"--beam_options={shlex.join(options)}"]


if __name__ == "__main__":
    # Removes the folder of this file, whose modules would hide other modules.
    sys.path.pop(0)
    from trainer.environment.variables import read_launched

    sys.argv = [read_launched(), *split_words(sys.argv[1:])]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
