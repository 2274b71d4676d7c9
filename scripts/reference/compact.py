"""Puts the JSON files of test/golden on few lines:  python scripts/reference/compact.py [FILE…]

Lists of numbers and whatever fits on a line is on one. Recipes, and files that libraries saved, stay as they are.
"""

import json
import sys
from pathlib import Path

GOLDEN = Path(__file__).parents[2] / 'test' / 'golden'
WIDTH = 150
SAVED = ('config', 'tokenizer_config', 'model_index', 'special_tokens_map', 'vocab', 'params', 'tekken', 'svc', 'modules')


def is_scalars(value):
    return isinstance(value, list) and all(is_scalars(one) or isinstance(one, int | float | bool | None) for one in value)


def lines(value, indent=''):
    plain = json.dumps(value, ensure_ascii=False, separators=(',', ':'))
    if is_scalars(value) or not isinstance(value, list | dict) or len(plain) + len(indent) <= WIDTH:
        return plain
    inner = f'{indent} '
    if isinstance(value, dict):
        parts = [f'{json.dumps(key, ensure_ascii=False)}: {lines(one, inner)}' for key, one in value.items()]
    else:
        parts = [lines(one, inner) for one in value]
    opening, closing = '{}' if isinstance(value, dict) else '[]'
    return f'{opening}\n{inner}' + f',\n{inner}'.join(parts) + f'\n{indent}{closing}'


def is_ours(path):
    name = path.name
    return path.parent.name != 'saved-tokenizer' and not name.endswith(('.recipe.json', '_config.json', '.index.json')) and path.stem not in SAVED


if __name__ == '__main__':
    for path in [Path(one) for one in sys.argv[1:]] or filter(is_ours, GOLDEN.rglob('*.json')):
        before = path.read_text()
        after = lines(json.loads(before)) + '\n'
        if len(after.encode()) < len(before.encode()):
            path.write_text(after)
