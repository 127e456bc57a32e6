"""Make the three font files beside this script from the `inter-ui` package. See README.md."""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

WEIGHTS = ["Regular", "Medium", "SemiBold"]

# Latin with its accents, and the punctuation, arrows and signs that the window's texts use.
TEXT = (
    [(0x20, 0x7E), (0xA0, 0x17F), (0x2010, 0x2027), (0x2030, 0x203A)]
    + [(c, c) for c in map(ord, "→←↑↓↔⇧⌘⌥−×≈≠≤≥∞…•·€■□▲▶▼◀●○✓✕⏎")]
)


def tabular(font: TTFont) -> None:
    """Give every digit the width of its tabular form: egui applies no OpenType features that are off by default."""
    gsub = font["GSUB"].table
    lookups = {
        index
        for record in gsub.FeatureList.FeatureRecord
        if record.FeatureTag == "tnum"
        for index in record.Feature.LookupListIndex
    }
    forms = {}
    for index in sorted(lookups):
        for table in gsub.LookupList.Lookup[index].SubTable:
            table = getattr(table, "ExtSubTable", table)
            forms.update(getattr(table, "mapping", {}))
    for table in font["cmap"].tables:
        for code in range(ord("0"), ord("9") + 1):
            if code in table.cmap:
                table.cmap[code] = forms.get(table.cmap[code], table.cmap[code])


def main(package: Path, target: Path) -> None:
    for weight in WEIGHTS:
        font = TTFont(package / "web" / f"Inter-{weight}.woff2")
        tabular(font)
        options = subset.Options(layout_features=["kern", "mark", "mkmk", "ccmp"], hinting=False, notdef_outline=True)
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=[code for first, last in TEXT for code in range(first, last + 1)])
        subsetter.subset(font)
        font.flavor = None
        font["head"].modified = font["head"].created
        font.recalcTimestamp = False
        font.save(target / f"Inter-{weight}.ttf")


main(Path(sys.argv[1]), Path(__file__).parent)
