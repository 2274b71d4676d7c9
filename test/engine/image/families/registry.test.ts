// Every class of a model that a registered family reads has a golden of its own, within the limits of modules, in a test.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { imageFamilies } from '../../../../src/engine/image/families/registry.ts';
import { GOLDENS } from '../../../models/golden.ts';

const path = (relative: string): string => fileURLToPath(new URL(`../../../${relative}`, import.meta.url));

/** Texts of the tests that compare modules. */
const tests = ['models/image', 'models/text', 'models/vision', 'engine/text/step']
  .flatMap((folder) =>
    readdirSync(path(folder), { recursive: true, encoding: 'utf8' }).map((file) => path(`${folder}/${file}`)),
  )
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');

function moduleClasses(): string[] {
  const read = (file: string) => JSON.parse(readFileSync(path(file), 'utf8')) as Record<string, unknown>;
  const modules = readdirSync(path('golden/image'))
    .filter((name) => tests.includes(`'${name}'`) && existsSync(path(`golden/image/${name}/case.json`)))
    .map((name) => String(read(`golden/image/${name}/case.json`)['class']));
  const texts = GOLDENS.flatMap((name) => read(`golden/${name}/config.json`)['architectures'] as string[]);
  return [...modules, ...texts];
}

/** Classes of components that are compared under another name: the file of an IP-Adapter, and the earlier name of PixArt's transformer. */
const JUDGED_BY: Readonly<Record<string, string>> = {
  IPAdapter: 'ImageProjection',
  Transformer2DModel: 'PixArtTransformer2DModel',
};

/** Language models without their head are compared with it. */
const judgedBy = (name: string): string =>
  JUDGED_BY[name] ?? name.replace(/^(Qwen\d+|Gemma\d+)Model$/, '$1ForCausalLM');

it('every class of a component is compared with its reference as a module', () => {
  const components = imageFamilies().flatMap(({ components: own, pipelines }) => [
    ...Object.values(own),
    ...pipelines.flatMap((set) => Object.values(set.components ?? {})),
  ]);
  const classes = components.flatMap(({ kind, classes: some }) => (kind === 'model' ? (some ?? []) : []));
  const judged = new Set(moduleClasses());
  expect([...new Set(classes)].filter((name) => !judged.has(judgedBy(name)))).toEqual([]);
});
