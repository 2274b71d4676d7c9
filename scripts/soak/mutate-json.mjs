// Damage to JSON files: keys that are removed or set to hostile values, and texts that are invalid or unusual JSON. Each mutation returns null
// for a base that has no such file.

import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { jsonText, readJson } from './python-json.mjs';

const MARK = '\u{e000}value\u{e000}';

/** Values as they stand in a file, so that Python's Infinity and NaN can be among them. */
const HOSTILE = [
  ...['null', 'true', 'false', '-1', '0', '1', '0.5', '1e9', '1e308', '-1e308', '2147483648', '1e-320'],
  ...['Infinity', '-Infinity', 'NaN', '""', '"1"', '"silu"', '"__proto__"', '"constructor"', '"../../x"'],
  ...[
    '[]',
    '[null]',
    '[-1]',
    '[1e9, 0.5]',
    '[[[]]]',
    '{}',
    '{"type": "constructor"}',
    '{"__proto__": {"x": 1}}',
  ],
  JSON.stringify('x'.repeat(100_000)),
  JSON.stringify('\u0000\ud83d\ude42\u202e'),
  '['.repeat(5000) + ']'.repeat(5000),
];

/** Texts that take a whole file's place. */
const TEXTS = {
  'an empty object': '{}',
  'an array': '[]',
  null: 'null',
  'a string': '"config"',
  'deep arrays': '['.repeat(200_000) + ']'.repeat(200_000),
  'deep objects': '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000),
  'bytes that are not UTF-8': Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  'zero bytes': Buffer.alloc(300),
  'an HTML page': '<!doctype html><title>404</title>',
  'a pointer of Git LFS': 'version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 1234\n',
};

/** Files whose whole content is a list of its own: their damage is mutate-speech's. */
const isConfig = (path) => path.endsWith('.json') && !/(^|\/)(tokenizer|vocab)\.json$/.test(path);

export const configsOf = (files) => files.filter(isConfig);

/** Paths of an object's members and of the members within them, up to a depth of four. */
function placesIn(value, path = []) {
  if (typeof value !== 'object' || value === null || path.length === 4) return [];
  const members = Object.entries(value).slice(0, Array.isArray(value) ? 3 : 80);
  return members.flatMap(([name, inner]) => [[...path, name], ...placesIn(inner, [...path, name])]);
}

const parentOf = (value, path) => path.slice(0, -1).reduce((inner, name) => inner[name], value);
const spelled = (path) => path.join('.');

/** `text`: JSON with `value` as its member at `path`, which is a text that need not be JSON. */
export function withMember(json, path, value) {
  const copy = structuredClone(json);
  parentOf(copy, path)[path.at(-1)] = MARK;
  return jsonText(copy, 2).replace(JSON.stringify(MARK), () => value);
}

const brief = (text) => (text.length > 40 ? `${text.slice(0, 20)}… (${text.length} characters)` : text);

export function setKey({ folder, files, random }) {
  const file = random.pick(configsOf(files));
  if (!file) return null;
  const json = readJson(join(folder, file));
  const path = random.pick(placesIn(json));
  const value = random.pick(HOSTILE);
  const was = parentOf(json, path)[path.at(-1)];
  writeFileSync(join(folder, file), withMember(json, path, value));
  return { file, key: spelled(path), value, was, what: `${file}: ${spelled(path)} is ${brief(value)}` };
}

export function removeKey({ folder, files, random }) {
  const file = random.pick(configsOf(files));
  if (!file) return null;
  const json = readJson(join(folder, file));
  const path = random.pick(placesIn(json));
  const parent = parentOf(json, path);
  if (Array.isArray(parent)) parent.splice(Number(path.at(-1)), 1);
  else delete parent[path.at(-1)];
  writeFileSync(join(folder, file), jsonText(json, 2));
  return { file, key: spelled(path), isRemoved: true, what: `${file}: without ${spelled(path)}` };
}

export function replaceText({ folder, files, random }) {
  const file = random.pick(files.filter((path) => path.endsWith('.json')));
  if (!file) return null;
  const name = random.pick(Object.keys(TEXTS));
  writeFileSync(join(folder, file), TEXTS[name]);
  return { file, isRemoved: name === 'an empty object', what: `${file} is ${name}` };
}

export function cutText({ folder, files, random }) {
  const file = random.pick(files.filter((path) => /\.(json|txt)$/.test(path)));
  if (!file) return null;
  const text = readFileSync(join(folder, file));
  const length = 1 + random.int(text.length - 3);
  writeFileSync(join(folder, file), text.subarray(0, length));
  return { file, isCut: true, what: `${file} ends after ${length} of ${text.length} bytes` };
}

const INDEX_LIES = {
  'a folder above': (index, name) => (index.weight_map[name] = '../../etc/passwd'),
  'an absolute path': (index, name) => (index.weight_map[name] = '/dev/zero'),
  'a file that is not there': (index, name) => (index.weight_map[name] = 'model-00009-of-00009.safetensors'),
  'the other file': (index, name) => {
    const files = [...new Set(Object.values(index.weight_map))];
    index.weight_map[name] = files.find((file) => file !== index.weight_map[name]);
  },
  'a number': (index, name) => (index.weight_map[name] = 5),
  nothing: (index, name) => delete index.weight_map[name],
  'no map at all': (index) => delete index.weight_map,
  'a list for a map': (index) => (index.weight_map = Object.entries(index.weight_map)),
  'an empty map': (index) => (index.weight_map = {}),
  'a tensor that is nowhere': (index) =>
    (index.weight_map['model.layers.9.x.weight'] = Object.values(index.weight_map)[0]),
};

/** Lies of model.safetensors.index.json; a base without one gets `null`. */
export function lieInIndex({ folder, files, random }) {
  const file = files.find((path) => path.endsWith('.index.json'));
  if (!file) return null;
  const index = readJson(join(folder, file));
  const tensor = random.pick(Object.keys(index.weight_map));
  const lie = random.pick(Object.keys(INDEX_LIES));
  INDEX_LIES[lie](index, tensor);
  writeFileSync(join(folder, file), JSON.stringify(index));
  return { file, key: tensor, what: `${basename(file)} has ${lie} for ${tensor}` };
}
