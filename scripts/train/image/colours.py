"""Writes colours.json: the words of land and sky, with the colours that captions gave them or that they have anyway."""

import json
from pathlib import Path

from scenes import COLOURS

FIXED_COLOURS = {
    **dict.fromkeys(
        "mountain mountains alps peaks coast seaside city town skyline skyscrapers countryside".split(), ()
    ),
    **dict.fromkeys("sea ocean lake".split(), ("blue",)),
    **dict.fromkeys("beach desert dunes sand".split(), ("yellow",)),
    **dict.fromkeys("forest woods woodland meadow hills field fields grassland".split(), ("green",)),
    "sky": ("blue",),
    "clouds": ("white",),
    "snow": ("white",),
}


def write_colours(folder: Path) -> None:
    colours = {"colours": COLOURS, "fixed": FIXED_COLOURS}
    (folder / "colours.json").write_text(json.dumps(colours, indent=2) + "\n")
