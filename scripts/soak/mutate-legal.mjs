// Changes that a published checkpoint may well have and that mean nothing: it must open and give the base's output.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../dist/files/json.js';
import { configsOf, withMember } from './mutate-json.mjs';
import { jsonText, readJson } from './python-json.mjs';
import { pack, readTensors, unpack, writeTensors } from './mutate-tensors.mjs';

const read = (folder, file) => readJson(join(folder, file));
const write = (folder, file, json) => writeFileSync(join(folder, file), jsonText(json, 2));

const reversed = (value) =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value).toReversed());

/** A mutation of one configuration file by its text. */
const configText =
  (what, edit) =>
  ({ folder, files, random }) => {
    const file = random.pick(configsOf(files));
    if (!file) return null;
    writeFileSync(join(folder, file), edit(readFileSync(join(folder, file), 'utf8')));
    return { file, what: `${file}: ${what}` };
  };

/** A mutation of the tensors of one file; `null` where `edit` has nothing to do. */
const tensorsOf =
  (what, edit, more = {}) =>
  ({ folder, files, random }) => {
    const file = random.pick(files.filter((path) => path.endsWith('.safetensors')));
    if (!file) return null;
    const path = join(folder, file);
    const written = edit(unpack(readTensors(path)), random);
    if (written === null) return null;
    writeTensors(path, written);
    return { file, ...more, what: `${file}: ${what}` };
  };

const withoutKey =
  (file, key) =>
  ({ folder }) => {
    if (!existsSync(join(folder, file))) return null;
    const json = read(folder, file);
    if (!(key in json)) return null;
    delete json[key];
    write(folder, file, json);
    return { file, what: `${file}: without ${key}` };
  };

function halfToFloat(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const mantissa = bits & 1023;
  return exponent === 0 ? sign * mantissa * 2 ** -24 : sign * (1 + mantissa / 1024) * 2 ** (exponent - 15);
}

/** The tensor with its values stored as F32. */
function widened(tensor) {
  if (tensor.dtype !== 'F16' && tensor.dtype !== 'BF16') return tensor;
  const count = tensor.bytes.length / 2;
  const bytes = Buffer.alloc(count * 4);
  for (let i = 0; i < count; i++) {
    const bits = tensor.bytes.readUInt16LE(i * 2);
    if (tensor.dtype === 'BF16') bytes.writeUInt32LE(bits * 2 ** 16, i * 4);
    else bytes.writeFloatLE(halfToFloat(bits), i * 4);
  }
  return { ...tensor, dtype: 'F32', bytes };
}

const INDEX = 'model.safetensors.index.json';
const HEAD = 'lm_head.weight';
const EMBEDDING = 'model.embed_tokens.weight';

/** Tensors of a language model's files, whichever they are. */
function languageTensors(folder) {
  const names = existsSync(join(folder, INDEX))
    ? [...new Set(Object.values(read(folder, INDEX).weight_map))]
    : ['model.safetensors'];
  return { names, tensors: names.flatMap((name) => unpack(readTensors(join(folder, name)))) };
}

/** Writes a language model's tensors in `count` files with an index, or in one without. */
function writeShards(folder, { names, tensors }, count) {
  for (const name of [...names, INDEX]) rmSync(join(folder, name), { force: true });
  if (count === 1) return writeTensors(join(folder, 'model.safetensors'), pack(tensors, { format: 'pt' }));
  const weightMap = {};
  for (let i = 0; i < count; i++) {
    const file = `model-${i}-of-${count}.safetensors`;
    const own = tensors.filter((_, place) => place % count === i);
    for (const { name } of own) weightMap[name] = file;
    writeTensors(join(folder, file), pack(own, { format: 'pt' }));
  }
  write(folder, INDEX, { metadata: { total_size: 1 }, weight_map: weightMap });
}

const isLanguage = ({ base }) => base.kind === 'text' && !base.only;

function reshard(at) {
  if (!isLanguage(at)) return null;
  const count = at.random.pick([1, 2, 3, 7]);
  writeShards(at.folder, languageTensors(at.folder), count);
  return { file: INDEX, what: `its weights lie in ${count} files` };
}

/** Tied models: the output's matrix under the other name, or under both. */
function tied(at) {
  if (!isLanguage(at) || read(at.folder, 'config.json').tie_word_embeddings !== true) return null;
  const stored = languageTensors(at.folder);
  const embedding = stored.tensors.find(({ name }) => name === EMBEDDING);
  const isDouble = at.random.chance(0.5);
  const head = { ...embedding, name: HEAD };
  const tensors = stored.tensors.filter(({ name }) => name !== HEAD && (isDouble || name !== EMBEDDING));
  writeShards(at.folder, { names: stored.names, tensors: [...tensors, head] }, 1);
  return {
    file: 'model.safetensors',
    what: `${HEAD} is stored ${isDouble ? 'beside' : 'in place of'} ${EMBEDDING}`,
  };
}

const UNREAD = {
  x_note: '"text"',
  initializer_range: 'Infinity',
  __proto__x: '{"a": [1]}',
  x_list: '[NaN, -Infinity]',
};

export const LEGAL = [
  configText('keys in the other order', (text) => jsonText(reversed(parseJson(text)))),
  configText(
    'much white space',
    (text) => `\r\n\t${jsonText(parseJson(text), 8).replaceAll('\n', '\r\n')}\n\n`,
  ),
  configText('no white space', (text) => jsonText(parseJson(text))),
  configText('a byte order mark', (text) => `\u{feff}${text}`),
  ({ folder, files, random }) => {
    const file = random.pick(configsOf(files).filter((path) => !Array.isArray(read(folder, path))));
    if (!file) return null;
    const [key, value] = random.pick(Object.entries(UNREAD));
    if (/index\.json$|svc\.json$/.test(file)) return null;
    writeFileSync(join(folder, file), withMember(read(folder, file), [key], value));
    return { file, what: `${file}: ${key}, which nobody reads, is ${value}` };
  },
  tensorsOf('__metadata__ is null', (tensors) => pack(tensors, null)),
  tensorsOf('__metadata__ is empty', (tensors) => pack(tensors, {})),
  tensorsOf('tensors in the other order', (tensors) => pack(tensors.toReversed(), { format: 'pt' })),
  tensorsOf('values as F32', (tensors) => pack(tensors.map(widened)), { isRounded: true }),
  reshard,
  tied,
  withoutKey('config.json', 'architectures'),
  withoutKey('config.json', 'torch_dtype'),
  withoutKey('config.json', 'transformers_version'),
  withoutKey('model_index.json', '_diffusers_version'),
  ({ folder, base }) => {
    const file = 'generation_config.json';
    if (base.kind !== 'text' || !existsSync(join(folder, file))) return null;
    rmSync(join(folder, file));
    return { file, keepsGreedyOnly: true, what: `no ${file}` };
  },
];
