// Makes files of tensors from their recipes. scripts/reference/draws.py states the same numbers, and recipe.py the form of a recipe.

import { inflateSync } from 'node:zlib';

const STEP = Math.sqrt(6) / 65536;
const BYTES = { F64: 8, F32: 4, F16: 2, BF16: 2, I64: 8, I32: 4, U8: 1, I8: 1, F8_E4M3: 1 };

function mixed(x) {
  x ^= x >>> 16;
  x = Math.imul(x, 0x21f0aaad);
  x ^= x >>> 15;
  x = Math.imul(x, 0xd35a2d97);
  return x ^ (x >>> 15);
}

function keyOf(seed, name) {
  let key = 0x811c9dc5;
  for (const byte of Buffer.from(`${seed}/${name}`)) key = Math.imul(key ^ byte, 0x01000193);
  return key;
}

/** Numbers of deviation `scale` around `offset`, of indices from `start` on, in f32. */
export function drawNumbers(seed, name, scale, offset, count, start = 0) {
  const key = keyOf(seed, name);
  const step = scale * STEP;
  const values = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    const word = mixed(mixed((start + i) | 0) ^ key);
    values[i] = offset + step * ((word & 0xffff) + (word >>> 16) - 65535);
  }
  return values;
}

/** Integers of `low` to `high`. */
export function drawIntegers(seed, name, low, high, count) {
  const key = keyOf(seed, name);
  const values = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const word = mixed(mixed(i) ^ key) >>> 0;
    values[i] = low + Math.floor((word * (high - low + 1)) / 2 ** 32);
  }
  return values;
}

/** f32 numbers in f16 or bf16, to the nearest, ties to even. */
export function narrowed(values, dtype) {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  return dtype === 'BF16' ? Uint16Array.from(bits, bf16Of) : Uint16Array.from(bits, f16Of);
}

function bf16Of(bits) {
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

function f16Of(bits) {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x47800000) return sign | (magnitude > 0x7f800000 ? 0x7e00 : 0x7c00);
  if (magnitude >= 0x38800000)
    return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13);
  const shift = 126 - (magnitude >>> 23);
  if (shift > 24) return sign;
  const digits = (magnitude & 0x7fffff) | 0x800000;
  const whole = digits >>> shift;
  const rest = digits & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  return sign | (whole + (rest > half || (rest === half && whole & 1) ? 1 : 0));
}

/** f16 or bf16 in f32. */
export function widened(bits, dtype) {
  if (dtype === 'BF16') return new Float32Array(Uint32Array.from(bits, (one) => one << 16).buffer);
  return Float32Array.from(bits, (one) => {
    const exponent = (one >>> 10) & 31;
    const digits = one & 1023;
    const magnitude = exponent === 0 ? digits * 2 ** -24 : (1024 + digits) * 2 ** (exponent - 25);
    return one & 0x8000 ? -magnitude : magnitude;
  });
}

/** Returns the whole file; `read` gives the bytes of another one, by its path from this one's folder. */
export function made(recipe, read) {
  const tensors = recipe.tensors.flatMap((entry) =>
    namesOf(entry).map((names) => tensorOf(recipe, entry, names, read)),
  );
  return recipe.head === undefined ? safetensors(tensors, recipe.metadata) : gguf(tensors, recipe);
}

/** The names of an entry's tensors, each with the name that it was drawn under. */
function namesOf({ names, at, of = names }) {
  if (at === undefined) return [[names, of]];
  return at.split(' ').map((row) => {
    const numbers = row.split(',');
    return [filled(names, numbers), filled(of, numbers)];
  });
}

function filled(pattern, numbers) {
  let next = 0;
  return pattern.replaceAll('#', () => numbers[next++]);
}

function tensorOf(recipe, entry, [name, source], read) {
  const { dtype = recipe.dtype, shape, seed = recipe.seed } = entry;
  if (entry.file !== undefined) return { name, dtype, shape, data: stored(read(entry.file), source) };
  const count = shape.reduce((product, side) => product * side, 1);
  if (entry.raw) {
    const data = Buffer.from(drawIntegers(seed, source, entry.low, entry.high, count * BYTES[dtype]));
    return { name, dtype, shape, data };
  }
  let values;
  if (entry.scale !== undefined) values = drawNumbers(seed, source, entry.scale, entry.offset ?? 0, count);
  else if (entry.low !== undefined) values = drawIntegers(seed, source, entry.low, entry.high, count);
  else if (entry.values !== undefined) values = entry.values;
  else values = joined(entry.parts, count);
  if (entry.through !== undefined) values = widened(narrowed(values, entry.through), entry.through);
  const typed = inDtype(values, dtype);
  return {
    name,
    dtype,
    shape,
    data: bytesOf(entry.swapped ? swapped(typed, entry.as ?? shape, Number(entry.swapped)) : typed),
  };
}

/** The data of a tensor in a safetensors file. */
function stored(file, name) {
  const begin = 8 + Number(file.readBigUInt64LE());
  const [from, to] = JSON.parse(file.toString('utf8', 8, begin))[name].data_offsets;
  return file.subarray(begin + from, begin + to);
}

function joined(parts, count) {
  const values = new Float32Array(count);
  let at = 0;
  for (const [name, scale, offset, seed, size, starts] of parts) {
    for (const start of starts) {
      if (name !== '') values.set(drawNumbers(seed, name, scale, offset, size, start), at);
      at += size;
    }
  }
  return values;
}

function inDtype(values, dtype) {
  if (dtype === 'I64') return BigInt64Array.from(values, BigInt);
  if (dtype === 'I32') return Int32Array.from(values);
  if (dtype === 'U8' || dtype === 'I8' || dtype === 'F8_E4M3') return Uint8Array.from(values);
  if (dtype === 'F32') return Float32Array.from(values);
  if (dtype === 'BOOL') return Uint8Array.from(values, Number);
  if (dtype === 'F16' || dtype === 'BF16') return narrowed(Float32Array.from(values), dtype);
  throw new Error(`Recipes do not make numbers in ${dtype}.`);
}

/** The last two axes exchanged, to give `shape`; the last `last` axes count as one. */
function swapped(values, shape, last) {
  const rows = shape.at(-1 - last);
  const columns = shape.slice(-last).reduce((product, extent) => product * extent, 1);
  const out = values.slice();
  for (let i = 0; i < values.length; i++) {
    const within = i % (rows * columns);
    out[i] = values[i - within + (within % columns) * rows + Math.floor(within / columns)];
  }
  return out;
}

function bytesOf(values) {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength);
}

/** Wide dtypes first, then by name, as the library has it. */
function safetensors(tensors, metadata) {
  tensors.sort((a, b) => BYTES[b.dtype] - BYTES[a.dtype] || (a.name < b.name ? -1 : 1));
  const header = metadata === undefined ? {} : { __metadata__: metadata };
  let at = 0;
  for (const { name, dtype, shape, data } of tensors) {
    header[name] = { dtype, shape, data_offsets: [at, (at += data.length)] };
  }
  const text = Buffer.from(JSON.stringify(header));
  const padding = Buffer.alloc(-text.length & 7, ' ');
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length + padding.length));
  return Buffer.concat([length, text, padding, ...tensors.map(({ data }) => data)]);
}

/** Tensors in the order in which the head has their names, each behind its length. */
function gguf(tensors, { head: deflated, pads }) {
  const head = inflateSync(Buffer.from(deflated, 'base64'));
  const placeOf = ({ name }) => {
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(Buffer.byteLength(name)));
    return head.indexOf(Buffer.concat([length, Buffer.from(name)]));
  };
  tensors.sort((a, b) => placeOf(a) - placeOf(b));
  const parts = tensors.flatMap(({ data }, i) => [data, Buffer.alloc(pads[i])]);
  return Buffer.concat([head, ...parts]);
}
