// Damage to GGUF files: counts, lengths, types, shapes and offsets of the header, names, scales of blocks that are no numbers, and bits of
// any part.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Bytes of the types of metadata that have a fixed size, by their numbers. */
const SIZES = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };
const STRING = 8;
const ARRAY = 9;
/** Types of tensors: where in a block of how many bytes lies an f16, or an f32. */
const FLOATS = {
  0: { block: 4, bytes: [0x00, 0x00, 0xc0, 0x7f] },
  1: { block: 2, bytes: [0x00, 0x7e] },
  8: { block: 34, bytes: [0x00, 0x7e] },
  30: { block: 2, bytes: [0xc0, 0x7f] },
};
/** Numbers that a field claims. */
const CLAIMS = [
  0n,
  1n,
  2n,
  7n,
  255n,
  65536n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 53n,
  2n ** 63n,
  2n ** 64n - 1n,
];

/** Reads where the fields of a header lie: `{ fields, tensors, values, dataAt }`, in bytes. */
function readHeader(bytes) {
  let at = 0;
  const fields = [];
  const field = (what, size) => {
    fields.push({ what, at, size });
    const value = size === 8 ? bytes.readBigUInt64LE(at) : BigInt(bytes.readUIntLE(at, size));
    at += size;
    return Number(value);
  };
  const text = (what) => {
    const length = field(`the length of ${what}`, 8);
    const read = bytes.toString('utf8', at, at + length);
    at += length;
    return read;
  };
  field('the magic', 4);
  field('the version', 4);
  const tensorCount = field('the number of tensors', 8);
  const keyCount = field('the number of keys', 8);
  const values = [];
  const skipValue = (type, what) => {
    const from = at;
    if (type === STRING) text(what);
    else if (type === ARRAY) {
      const inner = field(`the type of the items of ${what}`, 4);
      const count = field(`the number of items of ${what}`, 8);
      const start = at;
      for (let i = 0; i < count; i++) at += inner === STRING ? textSize() : SIZES[inner];
      values.push({ from: start, end: at });
      return;
    } else at += SIZES[type];
    values.push({ from, end: at });
  };
  const textSize = () => 8 + Number(bytes.readBigUInt64LE(at));
  for (let i = 0; i < keyCount; i++) {
    const key = text(`key ${i}`);
    skipValue(field(`the type of ${key}`, 4), key);
  }
  const tensors = Array.from({ length: tensorCount }, (_, i) => {
    const name = text(`the name of tensor ${i}`);
    const nameAt = at - Buffer.byteLength(name);
    const dimensions = field(`the dimensions of ${name}`, 4);
    for (let d = 0; d < dimensions; d++) field(`dimension ${d} of ${name}`, 8);
    const type = field(`the type of ${name}`, 4);
    return { name, nameAt, type, offset: field(`the offset of ${name}`, 8) };
  });
  return { fields, tensors, values, dataAt: Math.ceil(at / 32) * 32, headerEnd: at };
}

/** A mutation of one .gguf file; null for bases without one. */
const editing = (edit) => (at) => {
  const file = at.random.pick(at.files.filter((path) => path.endsWith('.gguf')));
  if (!file) return null;
  const bytes = readFileSync(join(at.folder, file));
  const { written = bytes, what, ...more } = edit({ bytes, ...readHeader(bytes), random: at.random });
  writeFileSync(join(at.folder, file), written);
  return { file, ...more, what: `${file}: ${what}` };
};

export const ggufField = editing(({ bytes, fields, random }) => {
  const { what, at, size } = random.pick(fields);
  const was = size === 8 ? bytes.readBigUInt64LE(at) : BigInt(bytes.readUIntLE(at, size));
  const claim = random.chance(0.4) ? was + random.pick([-1n, 1n, 32n, -32n]) : random.pick(CLAIMS);
  const value = BigInt.asUintN(8 * size, claim);
  if (size === 8) bytes.writeBigUInt64LE(value, at);
  else bytes.writeUIntLE(Number(value), at, size);
  return { what: `${what} is ${value}, it was ${was}` };
});

export const ggufName = editing(({ bytes, tensors, random }) => {
  const { name, nameAt } = random.pick(tensors);
  const other = random.pick(tensors.filter((one) => one.name.length === name.length && one.name !== name));
  const isTwice = other !== undefined && random.chance(0.4);
  const renamed = isTwice ? other.name : `${name.slice(0, -1)}?`;
  bytes.write(renamed, nameAt);
  return { key: name, what: `the tensor ${name} is named ${renamed}` };
});

/** Two tensors of one length exchange their offsets or a tensor lies where another one does. */
export const ggufPlaces = editing(({ bytes, fields, random }) => {
  const offsets = fields.filter(({ what }) => what.startsWith('the offset of'));
  const [one, other] = [random.pick(offsets), random.pick(offsets)];
  bytes.copy(bytes, one.at, other.at, other.at + 8);
  return { what: `${one.what} is ${other.what.slice(4)}` };
});

export const ggufLength = editing(({ bytes, headerEnd, random }) => {
  const length = random.pick([
    random.int(bytes.length),
    random.int(headerEnd),
    random.int(24),
    bytes.length - 1,
    bytes.length - 40,
  ]);
  if (random.chance(0.2))
    return {
      written: Buffer.concat([bytes, Buffer.alloc(1 + random.int(100), 1)]),
      what: 'bytes behind its end',
    };
  return { written: bytes.subarray(0, length), what: `only ${length} of ${bytes.length} bytes` };
});

/** A value of the metadata or of a tensor is another one, and may change the image; elsewhere the damage must be found. */
export const ggufBits = editing(({ bytes, values, headerEnd, dataAt, random }) => {
  const place = random.chance(0.75) ? random.int(headerEnd) : dataAt + random.int(bytes.length - dataAt);
  const bit = random.int(8);
  bytes[place] ^= 1 << bit;
  const isValue = place >= dataAt || values.some(({ from, end }) => place >= from && place < end);
  return { isSound: isValue, what: `bit ${bit} of byte ${place} is flipped` };
});

export const ggufOddValue = editing(({ bytes, tensors, dataAt, random }) => {
  const { name, type, offset } = random.pick(tensors.filter((one) => FLOATS[one.type]));
  Buffer.from(FLOATS[type].bytes).copy(bytes, dataAt + offset);
  return { key: name, what: `the first number of ${name} is NaN` };
});
