// Recipes of goldens: the numbers that scripts/reference/draws.py draws, the forms of an entry, and when files are made anew.

import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';
import { makeGoldens, recipesIn } from '../../scripts/setup/goldens.mjs';
import { root } from '../../scripts/setup/packages.mjs';
import { drawIntegers, drawNumbers, made, narrowed } from '../../scripts/setup/recipe.mjs';

const folder = mkdtempSync(join(tmpdir(), 'svc-recipes-'));
afterAll(() => rmSync(folder, { recursive: true }));

const digestOf = (values) => createHash('sha256').update(values).digest('hex').slice(0, 16);

const samples = JSON.parse(readFileSync(join(root, 'test/golden/recipe-samples.json'), 'utf8'));

it('Numbers are those of the scripts that make goldens, in every dtype', () => {
  for (const { seed, name, count, scale, offset, first, digests } of samples.filter((one) => one.digests)) {
    const values = drawNumbers(seed, name, scale, offset, count);
    expect([...values.subarray(0, 3)], name).toEqual(first.map(Math.fround));
    const found = {
      F32: digestOf(values),
      F16: digestOf(narrowed(values, 'F16')),
      BF16: digestOf(narrowed(values, 'BF16')),
    };
    expect(found, name).toEqual(digests);
  }
});

it('Integers are those of the scripts that make goldens', () => {
  const drawn = samples.filter((one) => one.digest);
  expect(drawn.length).toBeGreaterThan(0);
  for (const { seed, name, count, low, high, digest } of drawn)
    expect(digestOf(drawIntegers(seed, name, low, high, count)), name).toBe(digest);
});

it('Numbers have the deviation and the mean of their entry, and differ between names and seeds', () => {
  const values = drawNumbers(3, 'a', 0.5, 2, 100_000);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  expect(mean).toBeCloseTo(2, 2);
  expect(Math.sqrt(variance)).toBeCloseTo(0.5, 2);
  const others = [drawNumbers(3, 'b', 0.5, 2, 100), drawNumbers(4, 'a', 0.5, 2, 100)];
  for (const other of others) expect(other.filter((value, i) => value === values[i]).length).toBeLessThan(3);
});

/** Tensors of a safetensors file in f32. */
function readTensors(file) {
  const begin = 8 + Number(file.readBigUInt64LE());
  const header = JSON.parse(file.toString('utf8', 8, begin));
  return Object.fromEntries(
    Object.entries(header).map(
      ([
        name,
        {
          data_offsets: [from, to],
        },
      ]) => [
        name,
        [
          ...new Float32Array(
            file.buffer.slice(file.byteOffset + begin + from, file.byteOffset + begin + to),
          ),
        ],
      ],
    ),
  );
}

it('Entries are drawn by pattern, renamed, joined of parts, swapped, listed and read from stored files', () => {
  const plain = { dtype: 'F32', shape: [2, 3] };
  const stored = made({ seed: 0, tensors: [{ names: 's', dtype: 'F32', shape: [2], values: [7, 8] }] });
  const tensors = [
    { ...plain, names: 'layers.#.#', at: '0,a 1,b', scale: 1 },
    { ...plain, names: 'other', of: 'layers.1.b', scale: 1 },
    {
      ...plain,
      names: 'joined',
      parts: [
        ['', 0, 0, 0, 2, [0]],
        ['layers.1.b', 1, 0, 5, 2, [4, 0]],
      ],
    },
    { ...plain, names: 'turned', parts: [['layers.1.b', 1, 0, 5, 6, [0]]], swapped: true },
    {
      ...plain,
      names: 'planes',
      shape: [6],
      as: [2, 3],
      parts: [['layers.1.b', 1, 0, 5, 6, [0]]],
      swapped: true,
    },
    { names: 'listed', dtype: 'F32', shape: [2], values: [1.5, -2] },
    { names: 'read', dtype: 'F32', shape: [2], file: 'x.safetensors', of: 's' },
  ];
  const found = readTensors(
    made({ seed: 5, tensors }, (path) => (expect(path).toBe('x.safetensors'), stored)),
  );
  const [a, b] = ['layers.0.a', 'layers.1.b'].map((name) => [...drawNumbers(5, name, 1, 0, 6)]);
  expect(found).toEqual({
    'layers.0.a': a,
    'layers.1.b': b,
    other: b,
    joined: [0, 0, b[4], b[5], b[0], b[1]],
    turned: [b[0], b[2], b[4], b[1], b[3], b[5]],
    planes: [b[0], b[2], b[4], b[1], b[3], b[5]],
    listed: [1.5, -2],
    read: [7, 8],
  });
});

it('A file is made where it is missing or its recipe is another one, and must have the digest of the recipe', () => {
  const recipe = { seed: 9, tensors: [{ names: 'w', dtype: 'BF16', shape: [4], scale: 1 }] };
  const path = join(folder, 'w.safetensors');
  const write = (values) => writeFileSync(`${path}.recipe.json`, JSON.stringify(values));
  write({ ...recipe, sha256: digestOf(made(recipe)) });
  makeGoldens(folder);
  expect(readFileSync(path)).toEqual(made(recipe));
  writeFileSync(path, 'untouched');
  const { mtime } = statSync(`${path}.recipe.json`);
  utimesSync(path, mtime, mtime);
  makeGoldens(folder);
  expect(readFileSync(path, 'utf8')).toBe('untouched');
  write({ ...recipe, sha256: 'other' });
  utimesSync(`${path}.recipe.json`, new Date(), new Date(Date.now() + 5000));
  expect(() => makeGoldens(folder)).toThrow('w.safetensors.recipe.json makes bytes of digest');
});

it('A packed file is unpacked before recipes read it', () => {
  const apart = join(folder, 'packed');
  mkdirSync(apart);
  const pool = made({ seed: 9, tensors: [{ names: 'w', dtype: 'U8', shape: [2], values: [7, 8] }] });
  writeFileSync(join(apart, 'pool.safetensors.gz'), gzipSync(pool));
  const recipe = { seed: 9, tensors: [{ names: 'w', dtype: 'U8', shape: [2], file: 'pool.safetensors' }] };
  const data = made(recipe, () => pool);
  writeFileSync(
    join(apart, 'a.safetensors.recipe.json'),
    JSON.stringify({ ...recipe, sha256: digestOf(data) }),
  );
  makeGoldens(apart);
  expect(readFileSync(join(apart, 'pool.safetensors'))).toEqual(pool);
  expect(readFileSync(join(apart, 'a.safetensors'))).toEqual(data);
});

it('Every recipe of the goldens has its file', () => {
  const paths = recipesIn(join(root, 'test/golden'));
  expect(paths.length).toBeGreaterThan(100);
  expect(paths.filter((path) => !existsSync(path.replace(/\.recipe\.json$/, '')))).toEqual([]);
});
