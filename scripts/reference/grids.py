"""Makes src/kernels/grids.ts, the points that codes of GGUF's IQ1, IQ2 and IQ3 number, from gguf:  python scripts/reference/grids.py"""

import base64
from pathlib import Path

import numpy as np
from gguf import quants

PATH = Path(__file__).resolve().parents[2] / 'src' / 'kernels' / 'grids.ts'
HEAD = """// Points of the lattices whose numbers GGUF's IQ1, IQ2 and IQ3 hold, in base64: eight values of a point in 2 bits each, the places of the values in
// their order, or four values in a byte each. Made by scripts/reference/grids.py.

export const GRIDS = {
"""


def point_bytes(name):
    of = getattr(quants, name)
    of.init_grid()
    values = of.grid.reshape(of.grid_shape).astype(np.int32)
    if of.grid_shape[1] == 4:
        return values.astype(np.uint8).tobytes()
    codes = np.searchsorted(np.array(of.grid_map), values).astype(np.uint16)
    return (codes << (2 * np.arange(8, dtype=np.uint16))).sum(axis=1).astype('<u2').tobytes()


def main():
    text = HEAD
    for name in ['IQ1_S', 'IQ2_XXS', 'IQ2_XS', 'IQ2_S', 'IQ3_XXS', 'IQ3_S']:
        encoded = base64.b64encode(point_bytes(name)).decode()
        lines = [encoded[i : i + 130] for i in range(0, len(encoded), 130)]
        text += f'  {name.lower()}: [\n' + ''.join(f"    '{line}',\n" for line in lines) + '  ],\n'
    PATH.write_text(text + '} as const satisfies Record<string, readonly string[]>;\n\nexport type GridName = keyof typeof GRIDS;\n')


main()
