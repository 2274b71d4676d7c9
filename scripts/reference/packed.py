"""Packs goldens of many bytes that repeat, again after their scripts have written them:  python scripts/reference/packed.py [file ...]

x.gz stands for the file x of test/golden in git, which ignores x; scripts/setup/goldens.mjs unpacks it. Without arguments every file that has
such a copy is packed.
"""

import gzip
import sys
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[2] / 'test' / 'golden'

for path in map(Path, sys.argv[1:]) if sys.argv[1:] else [packed.with_suffix('') for packed in GOLDEN.rglob('*.gz')]:
    packed = path.with_name(f'{path.name}.gz')
    if not packed.exists() or gzip.decompress(packed.read_bytes()) != path.read_bytes():
        packed.write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
        print(packed, packed.stat().st_size)
