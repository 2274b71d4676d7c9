"""Random weights that are not stored: a file of tensors is a recipe, from which scripts/setup/goldens.mjs makes the same bytes.

Numbers are drawn by draws.py. Scripts take all weights from `Draws`, let the
library save its model, and call `keep` with the file: each tensor in it is found among what was drawn, whole, renamed, cut, joined or turned, so
that the layout is the library's own. <stem>.recipe.json then stands for the file, which git ignores. Its entries are

  names      of tensors; each # stands for a number, of which `at` lists the combinations
  dtype      as in safetensors files, where it is not the recipe's own
  shape
  scale      of numbers around `offset` (0 where it is left out), whose deviation it is
  of         name under which the numbers were drawn, where it is another
  seed       where it is not the recipe's own
  low, high  of integers between the two
  raw        they are the tensor's bytes, not its values
  parts      [name, scale, offset, seed, count, starts]: runs of `count` numbers of what was drawn under a name, from each start on; name '' is zeros
  swapped    the last two axes were exchanged after the parts had been joined; a number: the last ones, as many, count as one
  as         the shape whose axes were exchanged, where it is not the tensor's own
  through    a dtype that the numbers were rounded to before they were widened
  values     few numbers that follow from a formula
  file       of tensors beside the recipe, which has the tensor, under the name `of` says

`sha256` is of the whole file. GGUF files have `head`, the deflated part before the tensors' data, which has their order, and `pads`, zeros behind
each tensor's data.
"""

import base64
import hashlib
import json
import math
import os
import re
import struct
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

from draws import DTYPES, Draws, cast, numbers, widened


def drawn_for(path):
    """The draws that a recipe names, as its file has them, for a file that is made of it."""
    recipe = json.loads(recipe_of(path).read_text())
    recipe['tensors'] = [{'dtype': recipe['dtype'], **entry} for entry in recipe['tensors']]
    found = Draws(recipe['seed'])

    def add(name, scale, offset, seed, count, dtype):
        if name in found.drawn and found.drawn[name][1].size >= count:
            return
        rule = {'scale': scale, 'offset': offset, 'seed': seed, 'through': dtype}
        found.drawn[name] = (rule, widened(cast(numbers(seed, name, count, scale, offset), dtype)))

    for entry in recipe['tensors']:
        for name, scale, offset, seed, count, starts in entry.get('parts', []):
            if name:
                add(name, scale, offset, seed, max(starts) + count, entry['dtype'])
        if 'scale' in entry:
            for name in expanded(entry.get('of', entry['names']), entry.get('at')):
                add(name, entry['scale'], entry.get('offset', 0.0), entry.get('seed', recipe['seed']), math.prod(entry['shape']), entry['dtype'])
    return found


def expanded(pattern, at):
    if at is None:
        return [pattern]
    rows = [row.split(',') for row in at.split(' ')]
    return [''.join(piece for pair in zip(pattern.split('#'), [*row, '']) for piece in pair) for row in rows]


def recipe_of(path):
    return path.with_name(f'{path.name}.recipe.json')


class Found:
    """Looks for runs of numbers among what was drawn, in the bits of one dtype."""

    def __init__(self, draws, dtype):
        self.listed = []
        for one in draws:
            for name, (rule, values) in one.drawn.items():
                if dtype == 'U8' if 'low' in rule else 'F' in dtype:
                    self.listed.append((name, rule, cast(values, dtype)))
        self.whole = {}
        for index, (_, _, bits) in enumerate(self.listed):
            self.whole.setdefault(hashlib.sha256(bits.tobytes()).digest(), []).append(index)
        self.starts = np.cumsum([0, *(bits.size for _, _, bits in self.listed)])
        self.all = np.concatenate([bits for _, _, bits in self.listed]) if self.listed else np.zeros(0, DTYPES[dtype])
        self.size = 8 // self.all.itemsize
        self.keys = None

    def tensor(self, name, bits):
        at = self.whole.get(hashlib.sha256(bits.tobytes()).digest(), [])
        named = [index for index in at if self.listed[index][0] == name] or at
        return self.listed[named[0]] if named else None

    def windows(self, bits):
        return np.lib.stride_tricks.sliding_window_view(bits, self.size).copy().view('u8')[:, 0]

    def runs(self, bits):
        """Runs (index of what was drawn or None for zeros, start, count) that give all bits, or None."""
        if self.keys is None and self.all.size >= self.size:
            keys = self.windows(self.all)
            self.order = np.argsort(keys, kind='stable')
            self.keys = keys[self.order]
        found, at = [], 0
        raw = bits.view(f'u{bits.itemsize}')
        nonzero = np.flatnonzero(np.append(raw, 1))
        while at < bits.size:
            zeros = int(nonzero[np.searchsorted(nonzero, at)]) - at
            best = (zeros, None, 0)
            if bits.size - at >= self.size and self.all.size >= self.size:
                key = bits[at : at + self.size].copy().view('u8')[0]
                first, last = np.searchsorted(self.keys, key, 'left'), np.searchsorted(self.keys, key, 'right')
                for place in self.order[first:last][:64]:
                    index = int(np.searchsorted(self.starts, place, 'right')) - 1
                    start = int(place - self.starts[index])
                    own = self.listed[index][2].view(raw.dtype)[start : start + bits.size - at]
                    differ = np.flatnonzero(own != raw[at : at + own.size])
                    count = int(differ[0]) if differ.size else own.size
                    if count > best[0]:
                        best = (count, index, start)
            if best[0] < self.size:
                return None
            found.append((best[1], best[2], best[0]))
            at += best[0]
        return found

    def parts(self, bits):
        runs = self.runs(bits)
        if runs is None:
            return None
        parts = []
        for index, start, count in runs:
            name, rule = ('', {}) if index is None else self.listed[index][:2]
            head = [name, rule.get('scale', 0), rule.get('offset', 0), rule.get('seed', 0), count]
            if parts and parts[-1][:5] == head:
                parts[-1][5].append(start)
            else:
                parts.append([*head, [start]])
        return parts

    def through(self, parts, dtype):
        """What the drawn parts were rounded to, where it is not the tensor's own dtype."""
        names = {part[0] for part in parts}
        found = {rule.get('through', dtype) for name, rule, _ in self.listed if name in names} - {dtype}
        assert len(found) < 2, parts
        return {'through': found.pop()} if found else {}


def entry_of(name, dtype, shape, bits, found, is_drawn):
    entry = {'names': name, 'dtype': dtype, 'shape': list(shape)}
    whole = found.tensor(name, bits)
    if whole:
        drawn, rule, _ = whole
        entry |= {key: value for key, value in rule.items() if (key != 'offset' or value) and value != dtype}
        return entry | ({'of': drawn} if drawn != name else {})
    parts = found.parts(bits) if bits.size > 8 else None
    if parts and len(parts) <= max(8, bits.size // 16):
        return entry | {'parts': parts, **found.through(parts, dtype)}
    # Rows of pixels may be stored channel by channel.
    planes = [(*shape[:-1], 3, shape[-1] // 3)] if shape and shape[-1] % 3 == 0 else []
    for viewed in (shape, *planes):
        for last in range(1, len(viewed)):
            joined = bits.reshape(*viewed[: len(viewed) - last], -1)
            swapped = np.ascontiguousarray(np.swapaxes(joined, -1, -2)).reshape(-1)
            parts = found.parts(swapped)
            if parts and (last == 1 or len(parts) == 1):
                of = {} if viewed is shape else {'as': list(viewed)}
                return entry | {'parts': parts, **of, 'swapped': True if last == 1 else last, **found.through(parts, dtype)}
    if not is_drawn and bits.size > 32:
        return None
    if bits.size > 600:
        raise RuntimeError(f'{name} {dtype} {shape} was not drawn')
    values = widened(bits) if dtype == 'BF16' else bits
    listed = [float(str(value)) if value.dtype.kind == 'f' else int(value) for value in values]
    return entry | {'values': [int(value) if value == int(value) else value for value in listed]}


def grouped(entries, seed):
    """Entries whose names differ in numbers alone become one."""
    groups = {}
    for entry in entries:
        if entry.get('seed') == seed:
            del entry['seed']
        plain = {key: value for key, value in entry.items() if key not in ('names', 'of')}
        pattern = (re.sub(r'\d+', '#', entry['names']), re.sub(r'\d+', '#', entry.get('of', '')))
        alike = 'parts' not in entry and 'file' not in entry and ('of' not in entry or re.findall(r'\d+', entry['of']) == re.findall(r'\d+', entry['names']))
        groups.setdefault((json.dumps(plain), *pattern) if alike else (entry['names'],), []).append(entry)
    for entries in groups.values():
        first = entries[0]
        if len(entries) == 1:
            yield first
            continue
        found = [re.findall(r'\d+', entry['names']) for entry in entries]
        varied = [len(set(column)) > 1 for column in zip(*found)]

        def pattern(name):
            order = iter(varied)
            return re.sub(r'\d+', lambda match: '#' if next(order) else match[0], name)

        at = ' '.join(','.join(number for number, varies in zip(row, varied) if varies) for row in found)
        yield {'names': pattern(first['names']), 'at': at} | {
            key: pattern(value) if key == 'of' else value for key, value in first.items() if key != 'names'
        }


def parsed(data):
    """Tensors of a safetensors file by name, in order, and its metadata."""
    length = struct.unpack('<Q', data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop('__metadata__', None)
    tensors = {}
    for name, one in sorted(header.items()):
        start, end = one['data_offsets']
        bits = np.frombuffer(data[8 + length + start : 8 + length + end], DTYPES[one['dtype']])
        tensors[name] = (one['dtype'], one['shape'], bits)
    return tensors, metadata


def layout(tensors, metadata):
    """The bytes of a safetensors file: wide dtypes first, then by name, as the library has it."""
    order = sorted(tensors.items(), key=lambda pair: (-np.dtype(DTYPES[pair[1][0]]).itemsize, pair[0]))
    header, at = {} if metadata is None else {'__metadata__': metadata}, 0
    for name, (dtype, shape, bits) in order:
        header[name] = {'dtype': dtype, 'shape': list(shape), 'data_offsets': [at, at + bits.nbytes]}
        at += bits.nbytes
    text = json.dumps(header, separators=(',', ':'), ensure_ascii=False).encode()
    text += b' ' * (-len(text) % 8)
    return struct.pack('<Q', len(text)) + text + b''.join(bits.tobytes() for _, (_, _, bits) in order)


def write_recipe(path, seed, tensors, draws, whole, more, pool=None):
    founds, entries, others = {}, [], {}
    for name, (dtype, shape, bits) in tensors.items():
        if dtype not in founds:
            founds[dtype] = Found(draws, dtype)
        entry = entry_of(name, dtype, shape, bits, founds[dtype], pool is None)
        if entry:
            entries.append(entry)
        else:
            others[name] = (dtype, shape, bits)
    if pool is not None:
        entries += pooled(path, others, pool)
    entries = list(grouped(entries, seed))
    dtype = Counter(entry['dtype'] for entry in entries).most_common(1)[0][0]
    plain = [{key: value for key, value in entry.items() if key != 'dtype' or value != dtype} for entry in entries]
    lines = [json.dumps(entry, separators=(',', ':'), ensure_ascii=False) for entry in plain]
    head = {'seed': seed, 'dtype': dtype, 'sha256': hashlib.sha256(whole).hexdigest()[:16], **more}
    opening = json.dumps(head, ensure_ascii=False)[:-1]
    recipe_of(path).write_text(f'{opening}, "tensors": [\n' + ',\n'.join(lines) + '\n]}\n')
    path.write_bytes(whole)


def keep(path, *draws, pool=None):
    """Writes the recipe of a safetensors file. Without a pool all tensors were drawn; the others go to the pool, a stored file."""
    path = Path(path)
    tensors, metadata = parsed(path.read_bytes())
    more = {} if metadata is None else {'metadata': metadata}
    write_recipe(path, draws[0].seed, tensors, draws, layout(tensors, metadata), more, pool=pool)


def pooled(path, tensors, pool):
    """Adds tensors to a pool, where each is stored once, under a digest of its bits, and drops those that no recipe beside or below it has."""
    recipe_of(path).unlink(missing_ok=True)
    used = {of for recipe in pool.parent.rglob('*.recipe.json') for of in re.findall(rf'{re.escape(pool.name)}","of":"(\w+)"', recipe.read_text())}
    stored = {name: one for name, one in (parsed(pool.read_bytes())[0] if pool.exists() else {}).items() if name in used}
    entries = []
    for name, (dtype, shape, bits) in tensors.items():
        digest = hashlib.sha256(f'{dtype} {shape}'.encode() + bits.tobytes()).hexdigest()[:12]
        stored[digest] = (dtype, shape, bits)
        file = os.path.relpath(pool, path.parent).replace(os.sep, '/')
        entries.append({'names': name, 'dtype': dtype, 'shape': list(shape), 'file': file, 'of': digest})
    if stored or pool.exists():
        pool.write_bytes(layout(stored, None))
    return entries


def keep_gguf(path, *draws, pool=None):
    """Writes the recipe of a GGUF file. Its tensors in F32 and F16 were drawn; codes go to the pool."""
    import gguf

    path = Path(path)
    data = path.read_bytes()
    fields = sorted(gguf.GGUFReader(path).tensors, key=lambda tensor: tensor.data_offset)
    tensors, pads, begin = {}, [], fields[0].data_offset
    for tensor, after in zip(fields, [*(one.data_offset for one in fields[1:]), len(data)]):
        dtype = tensor.tensor_type.name if tensor.tensor_type.name in DTYPES else 'U8'
        bits = np.frombuffer(data[tensor.data_offset : tensor.data_offset + tensor.n_bytes], DTYPES[dtype])
        shape = [int(side) for side in reversed(tensor.shape)] if dtype != 'U8' else [bits.size]
        tensors[tensor.name] = (dtype, shape, bits)
        pads.append(after - tensor.data_offset - tensor.n_bytes)
    more = {'head': base64.b64encode(zlib.compress(data[:begin], 9)).decode(), 'pads': pads}
    write_recipe(path, draws[0].seed, tensors, draws, data, more, pool)
