// Parts of synthetic checkpoints in a cache folder: random weights in f16, and a tokenizer of bytes, the same at every run. Speed
// does not depend on the text that a model generates. SVC_SPARSE_CHECKPOINTS names another folder, where only the first values of each tensor are
// written and the others are zeros that take no room on the disk: then a model of 16 GB is made in a second.

import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** @returns {string} the folder of that name, which `make` fills at the first call */
export function madeOnce(name, make) {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(process.env.SVC_SPARSE_CHECKPOINTS || join(cache, 'svc-engine', 'bench'), name);
  if (existsSync(folder)) return folder;
  const making = `${folder}.${process.pid}`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { recursive: true });
  make(making);
  renameSync(making, folder);
  return folder;
}

/** Values of a matrix that are written: the first ones of a sparse file. */
const MOST_VALUES = process.env.SVC_SPARSE_CHECKPOINTS ? 2048 : Infinity;

/**
 * Writes tensors [name, shape, bytes] with values of ±(1 to 2)/64 and random mantissas; norms are one and biases zero. `bytes`: the value of all
 * bytes of a tensor of U8, or `random`; left out: the tensor is of F16.
 */
export function writeTensors(path, shapes) {
  const header = {};
  let end = 0;
  const tensors = shapes.map(([name, shape, bytes = null]) => {
    const count = shape.reduce((product, extent) => product * extent, 1);
    const dtype = bytes === null ? 'F16' : 'U8';
    const begin = end;
    header[name] = { dtype, shape, data_offsets: [begin, (end += (bytes === null ? 2 : 1) * count)] };
    const isBias = name.endsWith('bias');
    const constant = isBias ? ZERO : shape.length === 1 ? ONE : null;
    return { begin, count: constant === null ? Math.min(count, MOST_VALUES) : count, bytes, constant };
  });
  const text = Buffer.from(JSON.stringify(header));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(text.length));
  const file = openSync(path, 'w');
  writeSync(file, Buffer.concat([prefix, text]));
  const first = prefix.length + text.length;
  let state = 1;
  for (const { begin, count, bytes, constant } of tensors) {
    if (bytes !== null) {
      const data = bytes === 'random' ? randomBytes(count) : Buffer.alloc(count, bytes);
      writeSync(file, data, 0, count, first + begin);
      continue;
    }
    const halves = new Uint16Array(count).fill(constant ?? ZERO);
    if (constant === null) {
      for (let i = 0; i < count; i++) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        halves[i] = 0x2400 | ((state >>> 16) & 0x83ff);
      }
    }
    writeSync(file, halves, 0, halves.byteLength, first + begin);
  }
  ftruncateSync(file, first + end);
  closeSync(file);
}

/** Random bytes, equal at every run. */
export function randomBytes(count) {
  const words = new Uint32Array(Math.ceil(count / 4));
  let state = 1;
  for (let i = 0; i < words.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    words[i] = state ^ (state >>> 15);
  }
  return Buffer.from(words.buffer, 0, count);
}

const ZERO = 0;
const ONE = 0x3c00;

/** A tokenizer.json of bytes and of words that no merge produces: a text has as many tokens as bytes. */
export function byteTokenizer(vocabulary) {
  return byteLevelTokenizer(Array.from({ length: vocabulary - 256 }, (_, i) => Buffer.from(`w${i}`)));
}

/** A byte-level tokenizer.json of the given words. `end`: the end token, which gets the last id. */
export function byteLevelTokenizer(spelled, end = null) {
  const printable = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
  let next = 256;
  const bytes = Array.from({ length: 256 }, (_, byte) =>
    String.fromCodePoint(printable(byte) ? byte : next++),
  );
  const words = spelled.map((word) => Array.from(word, (byte) => bytes[byte]).join(''));
  const endId = 256 + words.length;
  return {
    version: '1.0',
    added_tokens: end === null ? [] : [{ id: endId, content: end, special: true }],
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      vocab: Object.fromEntries([...bytes, ...words].map((token, id) => [token, id])),
      merges: [],
    },
  };
}
