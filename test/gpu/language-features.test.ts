// Features of WGSL beyond its first version: shaders that need one name it, and a device without one that a shader requires says so.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../../scripts/setup/packages.mjs';
import { link } from '../../src/gpu/linker.ts';
import { KeptDevice } from './kept-device.ts';
import { openTestDevice } from './test-device.ts';

const folder = join(root, 'shaders');
const lines = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.wgsl'))
  .flatMap((path) => linesOf(path));

/** Lines of a file without their comments, after its path. */
function linesOf(path: string): string[] {
  const text = readFileSync(join(folder, path), 'utf8');
  return text.split('\n').map((line, i) => `${path}:${i + 1}: ${line.replace(/\/\/.*/, '')}`);
}

/** What shaders must not contain, since WebGPU without the feature refuses it, or ends the browser's GPU process. */
const FEATURES = {
  // A pointer to a part of a variable as an argument; functions of atomics take one in any version.
  unrestricted_pointer_parameters: /\b(?!atomic)(?<![\w])\w+\((?:[^()]*,)?\s*&\w+[[.]/,
  packed_4x8_integer_dot_product: /\b(dot4[IU]8Packed|(un)?pack4x[IU]8\w*)\(/,
  readonly_and_readwrite_storage_textures: /texture_storage/,
  swizzle_assignment: /\.[xyzwrgba]{2,4}\s*[-+*/&|^]?=[^=]/,
  subgroup_id: /@builtin\((subgroup_id|num_subgroups)\)/,
  linear_indexing: /@builtin\((global_invocation_index|workgroup_index)\)/,
};

it.each(Object.entries(FEATURES))('no shader uses %s without requiring it', (feature, pattern) => {
  const requiring = new Set(lines.filter((line) => isRequired(line, feature)).map(fileOf));
  const uses = lines.filter((line) => pattern.test(line) && !requiring.has(fileOf(line)));
  expect(uses).toEqual([]);
});

const fileOf = (line: string): string => line.split(':')[0]!;
const isRequired = (line: string, feature: string): boolean =>
  /: requires\b/.test(line) && line.includes(feature);

it('the pattern of pointers finds those to parts of variables only', () => {
  const { unrestricted_pointer_parameters: pattern } = FEATURES;
  for (const line of ['fold(&c[t], x);', 'f(&sums.quads);', 'f(x, &c[t]);']) expect(line).toMatch(pattern);
  for (const line of ['fold(&c, t);', 'atomicAdd(&counts[e], 1u);', 'if (a && b[0] == f(c)) {'])
    expect(line).not.toMatch(pattern);
});

const REQUIRING = 'requires first_feature, second_feature;\n@compute @workgroup_size(1) fn main() {}\n';

it('a shader names the features that it requires', () => {
  expect(link(() => REQUIRING, 'needy.wgsl').requires).toEqual(['first_feature', 'second_feature']);
  expect(link(() => '@compute @workgroup_size(1) fn main() {}', 'plain.wgsl').requires).toEqual([]);
});

it('a device without a required feature refuses the kernel and names the feature', async () => {
  const { gpu, summary } = await openTestDevice();
  const settings = { shaders: () => REQUIRING, summary, memoryBudget: 2 ** 20 };
  const device = new KeptDevice(gpu, { ...settings, languageFeatures: new Set(['first_feature']) });
  expect(() => device.pipeline('needy.wgsl')).toThrow(
    'needy.wgsl needs the WGSL language feature second_feature, which this WebGPU lacks',
  );
  device.destroy();
});
