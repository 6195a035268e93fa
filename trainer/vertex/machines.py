"""Machine types and the possible accelerators of each type.

Source: the service's documentation of compute resources for custom training. Machine types of
unknown families are accepted here, and the service checks them.
"""

import re
from dataclasses import dataclass
from typing import Any, Optional

from trainer.errors import UserError, nearest

POWERS = (1, 2, 4, 8)
# Accelerator → maximum number of vCPUs of an N1 machine with 1, 2, 4 and 8 accelerators; None: this
# number of accelerators is not available.
N1_VCPUS: dict[str, tuple[Optional[int], ...]] = {
    "NVIDIA_TESLA_T4": (48, 48, 96, None),
    "NVIDIA_TESLA_P4": (24, 48, 96, None),
    "NVIDIA_TESLA_P100": (16, 32, 96, None),
    "NVIDIA_TESLA_V100": (12, 24, 48, 96),
}
# Machine type with built-in accelerators → (accelerator, count).
BUILT_IN = {
    **{f"a2-highgpu-{n}g": ("NVIDIA_TESLA_A100", n) for n in POWERS},
    "a2-megagpu-16g": ("NVIDIA_TESLA_A100", 16),
    **{f"a2-ultragpu-{n}g": ("NVIDIA_A100_80GB", n) for n in POWERS},
    **{f"a3-highgpu-{n}g": ("NVIDIA_H100_80GB", n) for n in POWERS},
    "a3-megagpu-8g": ("NVIDIA_H100_MEGA_80GB", 8),
    "a3-ultragpu-8g": ("NVIDIA_H200_141GB", 8),
    "a4-highgpu-8g": ("NVIDIA_B200", 8),
    **{f"g2-standard-{n}": ("NVIDIA_L4", 1) for n in (4, 8, 12, 16, 32)},
    "g2-standard-24": ("NVIDIA_L4", 2),
    "g2-standard-48": ("NVIDIA_L4", 4),
    "g2-standard-96": ("NVIDIA_L4", 8),
}
CPU_FAMILIES: dict[str, dict[str, tuple[int, ...]]] = {
    "n1": {"standard": (4, 8, 16, 32, 64, 96), "highmem": (2, 4, 8, 16, 32, 64, 96),
           "highcpu": (16, 32, 64, 96)},
    "n2": {kind: (2, 4, 8, 16, 32, 48, 64, 80) for kind in ("standard", "highmem", "highcpu")},
    "e2": {"standard": (4, 8, 16, 32), "highmem": (2, 4, 8, 16), "highcpu": (16, 32)},
    "c2": {"standard": (4, 8, 16, 30, 60)},
    "m1": {"ultramem": (40, 80, 160), "megamem": (96,)},
}  # fmt: skip
MACHINES = [
    f"{family}-{kind}-{count}"
    for family, kinds in CPU_FAMILIES.items()
    for kind, counts in kinds.items()
    for count in counts
]
# Machine types with TPUs, such as cloud-tpu and ct5lp-hightpu-4t, and accelerators such as TPU_V3.
TPU = re.compile(r"cloud-tpu|ct\d|tpu|[^:]*:TPU")
ACCELERATORS = [*N1_VCPUS, *dict.fromkeys(accelerator for accelerator, _ in BUILT_IN.values())]


@dataclass(frozen=True)
class Machine:
    """The machine of a pool's replicas.

    Attributes:
        machine_type: n1-standard-8, g2-standard-24, ...
        accelerator: NVIDIA_L4, ...; None: no accelerator.
        count: number of accelerators.
    """

    machine_type: str
    accelerator: Optional[str] = None
    count: int = 0

    def to_spec(self) -> dict[str, Any]:
        """Returns the JSON of a MachineSpec."""
        spec: dict[str, Any] = {"machineType": self.machine_type}
        if self.accelerator:
            spec.update(acceleratorType=self.accelerator, acceleratorCount=self.count)
        return spec


def parse_machine(text: str, option: str) -> Machine:
    """Parses TYPE or TYPE:ACCELERATOR:COUNT, and checks that the service offers this machine.

    Args:
        text: the machine; built-in accelerators can be omitted.
        option: the flag, for messages.

    Raises:
        UserError: there is no such machine type, or it cannot have these accelerators.
    """
    machine_type, *rest = text.split(":")
    if len(rest) > 2:
        raise UserError(
            f"{option}={text}: write TYPE or TYPE:ACCELERATOR:COUNT, such as "
            "n1-standard-8:NVIDIA_TESLA_T4:2"
        )
    accelerator = rest[0].upper() if rest else None
    number = rest[1] if len(rest) == 2 else "1"
    if not number.isdecimal() or int(number) < 1:
        raise UserError(f"{option}={text}: {number!r} is not a number of accelerators; write 1, 2")
    if TPU.match(f"{machine_type}:{accelerator or ''}"):
        raise UserError(
            f"{option}={text}: has TPUs, which the trainer does not use; write a machine with GPUs "
            "or without accelerators, such as g2-standard-8 or n1-standard-8"
        )
    _check_type(machine_type, option)
    if accelerator is not None and accelerator not in ACCELERATORS:
        raise UserError(
            f"{option}={text}: no such accelerator{nearest(accelerator, ACCELERATORS)}; use one of "
            f"{', '.join(ACCELERATORS)}"
        )
    machine = Machine(machine_type, accelerator, int(number) if accelerator else 0)
    if machine_type in BUILT_IN and accelerator is None:
        machine = Machine(machine_type, *BUILT_IN[machine_type])
    problem = _find_problem(machine)
    if problem:
        raise UserError(f"{option}={text}: {problem}")
    return machine


def _check_type(machine_type: str, option: str) -> None:
    family = machine_type.partition("-")[0]
    known = [*MACHINES, *BUILT_IN]
    families = {one.partition("-")[0] for one in known}
    if machine_type in known or family not in families and machine_type.count("-") == 2:
        return
    raise UserError(
        f"{option}={machine_type}: no such machine type{nearest(machine_type, known)}; use a "
        f"type of the families {', '.join(sorted(families))}"
    )


def _find_problem(machine: Machine) -> Optional[str]:
    if machine.machine_type in BUILT_IN:
        accelerator, count = BUILT_IN[machine.machine_type]
        if (machine.accelerator, machine.count) != (accelerator, count):
            return f"this machine type always has {count} {accelerator}; write only the type"
        return None
    if machine.accelerator is None:
        return None
    if machine.accelerator not in N1_VCPUS:
        fitting = [name for name, (one, _) in BUILT_IN.items() if one == machine.accelerator]
        return (
            f"{machine.accelerator} exists only in the machine types {', '.join(fitting)}; use one"
        )
    if not machine.machine_type.startswith("n1-"):
        return f"{machine.accelerator} can only be added to n1 machines; use one of them"
    limits = dict(zip(POWERS, N1_VCPUS[machine.accelerator]))
    limit = limits.get(machine.count)
    if limit is None:
        counts = [str(count) for count, vcpus in limits.items() if vcpus]
        return f"{machine.accelerator} can be added {', '.join(counts)} times; write such a number"
    if int(machine.machine_type.rpartition("-")[2]) > limit:
        return (
            f"{machine.count} {machine.accelerator} allow at most {limit} vCPUs; "
            "use a smaller machine or more accelerators"
        )
    return None
