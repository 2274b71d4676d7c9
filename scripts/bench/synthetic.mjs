// Parts of synthetic checkpoints in a cache folder: random weights in f16, and a tokenizer of bytes, the same at every run. Speed
// does not depend on the text that a model generates.

import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** @returns {string} the folder of that name, which `make` fills at the first call */
export function madeOnce(name, make) {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(cache, 'svc-engine', 'bench', name);
  if (existsSync(folder)) return folder;
  const making = `${folder}.${process.pid}`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { recursive: true });
  make(making);
  renameSync(making, folder);
  return folder;
}

/** Writes tensors [name, shape] with values of ±(1 to 2)/64 and random mantissas; norms are one and biases zero. */
export function writeTensors(path, shapes) {
  const header = {};
  let end = 0;
  const tensors = shapes.map(([name, shape]) => {
    const count = shape.reduce((product, extent) => product * extent, 1);
    header[name] = { dtype: 'F16', shape, data_offsets: [end, (end += 2 * count)] };
    return { count, constant: shape.length === 1 ? (name.endsWith('bias') ? ZERO : ONE) : null };
  });
  const text = Buffer.from(JSON.stringify(header));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(text.length));
  const file = openSync(path, 'w');
  writeSync(file, Buffer.concat([prefix, text]));
  let state = 1;
  for (const { count, constant } of tensors) {
    const halves = new Uint16Array(count).fill(constant ?? ZERO);
    if (constant === null) {
      for (let i = 0; i < count; i++) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        halves[i] = 0x2400 | ((state >>> 16) & 0x83ff);
      }
    }
    writeSync(file, halves);
  }
  closeSync(file);
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
