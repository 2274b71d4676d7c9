// Damage to .safetensors files: lengths, headers that lie, names, and values that are no numbers.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** `{ header, data }`; the header is a plain object with data_offsets as stored. */
export function readTensors(file) {
  const bytes = readFileSync(file);
  const length = Number(bytes.readBigUInt64LE(0));
  return { header: JSON.parse(bytes.toString('utf8', 8, 8 + length)), data: bytes.subarray(8 + length) };
}

/** Writes a header as it is, or as `text`, before `data`. */
export function writeTensors(file, { header, data, text = JSON.stringify(header) }) {
  const head = Buffer.from(text);
  const padded = Buffer.concat([head, Buffer.alloc((8 - (head.length % 8)) % 8, ' ')]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  writeFileSync(file, Buffer.concat([length, padded, data]));
}

/** Name, dtype, shape and bytes of each tensor. */
export function unpack({ header, data }) {
  return Object.entries(header)
    .filter(([name]) => name !== '__metadata__')
    .map(
      ([
        name,
        {
          dtype,
          shape,
          data_offsets: [begin, end],
        },
      ]) => ({
        name,
        dtype,
        shape,
        bytes: data.subarray(begin, end),
      }),
    );
}

export function pack(tensors, metadata) {
  const header = metadata === undefined ? {} : { __metadata__: metadata };
  let begin = 0;
  for (const { name, dtype, shape, bytes } of tensors) {
    header[name] = { dtype, shape, data_offsets: [begin, begin + bytes.length] };
    begin += bytes.length;
  }
  return { header, data: Buffer.concat(tensors.map(({ bytes }) => bytes)) };
}

const renumbered = (name) => name.replace(/\d+/, '77');

const SAME_SIZE = { F16: 'I16', BF16: 'U16', F32: 'I32', F8_E4M3: 'I8', U8: 'I8' };
/** Faults of one entry of the header; each edits `entry` in place. */
const ENTRY_LIES = {
  'dtype F32 for what it has': (entry) => (entry.dtype = entry.dtype === 'F32' ? 'F16' : 'F32'),
  'dtype I64': (entry) => (entry.dtype = 'I64'),
  'dtype of the same size': (entry) => (entry.dtype = SAME_SIZE[entry.dtype]),
  'dtype __proto__': (entry) => (entry.dtype = '__proto__'),
  'no dtype': (entry) => delete entry.dtype,
  'a longer shape': (entry) => (entry.shape[0] += 1),
  'a shape of another rank': (entry) => (entry.shape = [...entry.shape, 1]),
  'its shape transposed': (entry) => (entry.shape = entry.shape.toReversed()),
  'a shape of 0': (entry) => (entry.shape[0] = 0),
  'an empty shape': (entry) => (entry.shape = []),
  'a negative shape': (entry) => (entry.shape[0] *= -1),
  'a fractional shape': (entry) => (entry.shape[0] += 0.5),
  'a shape of 1e15': (entry) => (entry.shape[0] = 1e15),
  'a shape of 2 ** 53 twice': (entry) => (entry.shape = [2 ** 53, 2 ** 53]),
  'a shape of texts': (entry) => (entry.shape = entry.shape.map(String)),
  'offsets beyond the file': (entry) => (entry.data_offsets[1] += 1e12),
  'offsets moved by 2': (entry) => (entry.data_offsets = entry.data_offsets.map((at) => at + 2)),
  'offsets that run backwards': (entry) => entry.data_offsets.reverse(),
  'negative offsets': (entry) => (entry.data_offsets[0] = -8),
  'one offset': (entry) => entry.data_offsets.pop(),
  'offsets of null': (entry) => (entry.data_offsets = null),
};

/** Bytes of NaN and of the infinities, little-endian. */
const ODD_BYTES = {
  F16: { NaN: [0x00, 0x7e], Infinity: [0x00, 0x7c], '-Infinity': [0x00, 0xfc] },
  BF16: { NaN: [0xc0, 0x7f], Infinity: [0x80, 0x7f], '-Infinity': [0x80, 0xff] },
  F32: {
    NaN: [0x00, 0x00, 0xc0, 0x7f],
    Infinity: [0x00, 0x00, 0x80, 0x7f],
    '-Infinity': [0x00, 0x00, 0x80, 0xff],
  },
  F8_E4M3: { NaN: [0x7f] },
};

const HEADER_TEXTS = {
  'a list': '[]',
  null: 'null',
  'no JSON': '{"a":',
  'deep arrays': '['.repeat(100_000) + ']'.repeat(100_000),
  empty: '',
};

const METADATA = [{ format: 5 }, [], 'pt', 7, { a: { b: 'c' } }];

function pickTensor(header, random) {
  return random.pick(Object.keys(header).filter((name) => name !== '__metadata__'));
}

/** A mutation of one .safetensors file: `edit` gets `{ header, data, random }` and returns what it did and what to write; null: nothing. */
const editing = (edit) => (at) => {
  const file = at.random.pick(at.files.filter((path) => path.endsWith('.safetensors')));
  if (!file) return null;
  const path = join(at.folder, file);
  const edited = edit({ ...readTensors(path), random: at.random, file });
  if (edited === null) return null;
  const { what, key, isSound = false, isName = false, ...written } = edited;
  writeTensors(path, written);
  return { file, key, isSound, isName, what: `${file}: ${what}` };
};

export const entryLie = editing(({ header, data, random }) => {
  const name = pickTensor(header, random);
  const lie = random.pick(Object.keys(ENTRY_LIES));
  ENTRY_LIES[lie](header[name]);
  return { header, data, key: name, what: `${name} has ${lie}` };
});

export const oddValue = editing(({ header, data, random }) => {
  const name = random.pick(
    Object.keys(header).filter((one) => Object.hasOwn(ODD_BYTES, header[one].dtype ?? '')),
  );
  if (name === undefined) return null;
  const {
    dtype,
    data_offsets: [begin, end],
  } = header[name];
  const value = random.pick(Object.keys(ODD_BYTES[dtype]));
  const bytes = ODD_BYTES[dtype][value];
  const place = random.int((end - begin) / bytes.length);
  const changed = Buffer.from(data);
  Buffer.from(bytes).copy(changed, begin + place * bytes.length);
  return { header, data: changed, key: name, what: `value ${place} of ${name} is ${value}` };
});

export const wrongName = editing(({ header, data, random }) => {
  const tensors = unpack({ header, data });
  const struck = random.pick(tensors);
  const others = tensors.filter((one) => one !== struck);
  const how = random.pick([
    'missing',
    'renamed',
    'extra',
    'twice',
    'called __proto__',
    'of 100,000 characters',
  ]);
  const { name } = struck;
  if (how === 'missing') tensors.splice(tensors.indexOf(struck), 1);
  if (how === 'renamed') struck.name = renumbered(name) === name ? `${name}.old` : renumbered(name);
  if (how === 'extra') tensors.push({ ...struck, name: `${name}_extra` });
  if (how === 'of 100,000 characters') struck.name = name + 'x'.repeat(100_000);
  const packed = pack(tensors);
  // An adapter without alphas has those of its ranks.
  const isSound = how === 'missing' && name.endsWith('.alpha');
  if (how === 'called __proto__' || how === 'twice') {
    const other = how === 'twice' ? (random.pick(others)?.name ?? '__metadata__') : '__proto__';
    const text = JSON.stringify(packed.header).replace(
      `${JSON.stringify(name)}:`,
      `${JSON.stringify(other)}:`,
    );
    return {
      ...packed,
      text,
      isName: true,
      key: how === 'twice' ? other : name,
      what: `${name} is named ${other}`,
    };
  }
  return { ...packed, isSound, isName: true, key: name, what: `${name} is ${how}` };
});

export const wrongHeader = editing(({ header, data, random }) => {
  if (random.chance(0.5)) {
    const metadata = random.pick(METADATA);
    return {
      header: { ...header, __metadata__: metadata },
      data,
      what: `__metadata__ is ${JSON.stringify(metadata)}`,
    };
  }
  const name = random.pick(Object.keys(HEADER_TEXTS));
  return { text: HEADER_TEXTS[name], data, what: `its header is ${name}` };
});

export const overlap = editing(({ header, data, random }) => {
  const same = Object.entries(header).filter(([name]) => name !== '__metadata__');
  const [name, entry] = random.pick(same);
  const size = ({ data_offsets: [begin, end] }) => end - begin;
  const [other, twin] = same.find(([n, e]) => n !== name && size(e) === size(entry)) ?? same.at(-1);
  entry.data_offsets = [...twin.data_offsets];
  return { header, data, key: name, what: `${name} lies where ${other} lies` };
});

/** A few characters of the header are other ones; those of its metadata, and of values, may change what is computed. */
export const headerBits = editing(({ header, data, random }) => {
  const text = Buffer.from(JSON.stringify(header));
  const { __metadata__: metadata } = header;
  const start = JSON.stringify(header).indexOf('"__metadata__"');
  const end = start + (metadata ? JSON.stringify(metadata).length + 20 : 0);
  const places = Array.from({ length: 1 + random.int(3) }, () => random.int(text.length));
  for (const place of places) text[place] ^= 1 << random.int(7);
  const isSound = places.every((place) => start >= 0 && place > start && place < end);
  return {
    text,
    data,
    isSound,
    isName: true,
    what: `bits of the bytes ${places.join(', ')} of its header are flipped`,
  };
});

export const dataBits = editing(({ header, data, random }) => {
  const changed = Buffer.from(data);
  const place = random.int(data.length);
  changed[place] ^= 1 << random.int(8);
  return { header, data: changed, isSound: true, what: `byte ${place} of its values has another bit` };
});

/** Damage that needs no header: the length in the first bytes, and where the file ends. */
export function wrongLength({ folder, files, random }) {
  const file = random.pick(files.filter((path) => path.endsWith('.safetensors')));
  if (!file) return null;
  const bytes = readFileSync(join(folder, file));
  const how = random.pick([
    'short',
    'long',
    'no header length',
    'a header of',
    'a header of',
    'one byte less',
  ]);
  let written = bytes;
  let what = how;
  if (how === 'short') {
    const length = random.int(bytes.length);
    written = bytes.subarray(0, length);
    what = `only ${length} of ${bytes.length} bytes`;
  } else if (how === 'long') written = Buffer.concat([bytes, Buffer.alloc(1 + random.int(20), 1)]);
  else if (how === 'no header length') written = bytes.subarray(8);
  else if (how === 'a header of') {
    const claim = random.pick([
      0n,
      1n,
      2n ** 31n,
      2n ** 63n - 1n,
      2n ** 64n - 1n,
      99_999_999n,
      BigInt(bytes.length),
    ]);
    written = Buffer.from(bytes);
    written.writeBigUInt64LE(claim);
    what = `a header of ${claim} bytes`;
  } else written = bytes.subarray(0, -1);
  writeFileSync(join(folder, file), written);
  return { file, what: `${file}: ${what}` };
}
