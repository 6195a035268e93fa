"""Writes the data of the old programs: the same for both TensorFlows. Needs no package."""

import random
from pathlib import Path

COLUMNS = ["age", "hours", "gain", "work", "school", "job", "country", "label"]
ROWS, SENTENCES = 24_000, 6_000


def write(folder: Path) -> None:
    """Writes census.csv, words.txt, tags.txt, vocab.txt, source.txt and target.txt.

    Args:
      folder: exists.
    """
    draw = random.Random(1)
    with open(folder / "census.csv", "w") as file:
        for _ in range(ROWS):
            age, hours, gain = draw.randint(17, 80), draw.randint(10, 60), draw.randint(0, 5000)
            texts = [
                f"{kind}{draw.randint(0, most)}" for kind, most in zip("wsjc", (8, 15, 40, 90))
            ]
            label = int(age + hours + gain / 100 + draw.gauss(0, 20) > 110)
            print(age, hours, gain, *texts, label, sep=",", file=file)
    words = [f"w{number}" for number in range(2000)]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    names = ("words.txt", "tags.txt", "source.txt", "target.txt")
    files = [open(folder / name, "w") for name in names]  # noqa: SIM115 - closed below
    for _ in range(SENTENCES):
        one = [words[min(int(draw.expovariate(1 / 200)), 1999)] for _ in range(draw.randint(4, 12))]
        tags = ["B" if int(word[1:]) % 5 == 0 else "O" for word in one]
        for file, line in zip(files, (one, tags, one, one[::-1])):
            print(*line, file=file)
    for file in files:
        file.close()
