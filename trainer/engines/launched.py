"""What the launcher of a flex template of Dataflow runs: flags of a command, options of Beam.

The launcher gives both in one command line, and says in --template_location where it wants the
pipeline.
"""

import runpy
import shlex
import sys


def split_words(words: list[str]) -> list[str]:
    """Returns a command line.

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
    # The folder of this file, whose modules would hide others.
    sys.path.pop(0)
    from trainer.environment.variables import read_launched

    sys.argv = [read_launched(), *split_words(sys.argv[1:])]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
