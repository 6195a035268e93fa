"""Writes the table of names in docs/migration_names.md from the audit's table of symbols.

python tools/migration_table.py docs/migration_names.md
"""

import json
import sys
from pathlib import Path

SYMBOLS = Path(__file__).resolve().parents[1] / "estimator_bridge" / "audit" / "symbols"
BEGIN = "<!-- the table of names: written by tools/migration_table.py -->"
END = "<!-- end of the table of names -->"


def render() -> str:
    """Returns the table as Markdown, one row per name, sorted by name."""
    names = json.loads((SYMBOLS / "estimator.json").read_text(encoding="utf-8"))
    traps = json.loads((SYMBOLS / "traps.json").read_text(encoding="utf-8"))
    rows = ["| name | API | in Keras | traps |", "|---|---|---|---|"]
    for name in sorted(names, key=str.lower):
        entry = names[name]
        views = " ".join(entry["views"])
        minded = ", ".join(traps[trap]["title"].lower() for trap in entry.get("traps", ()))
        keras = entry["keras"].replace("|", r"\|")
        rows.append(f"| `{name}` | {views} | {keras} | {minded} |")
    return "\n".join(rows)


def main(path: str) -> None:
    """Replaces the table in a file.

    Args:
        path: the Markdown file.
    """
    text = Path(path).read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    Path(path).write_text(f"{before}{BEGIN}\n{render()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
