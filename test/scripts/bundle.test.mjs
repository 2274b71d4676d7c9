// The bundle for pages: one module graph without Node and without packages left to resolve.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { bundle } from '../../scripts/setup/bundle.mjs';
import { root } from '../../scripts/setup/packages.mjs';

const folder = mkdtempSync(join(tmpdir(), 'svc-bundle-'));
afterAll(() => rmSync(folder, { recursive: true }));

const { metafile } = await bundle(folder);

test('the bundle imports only its own files', () => {
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  expect(imports.filter(({ external }) => external)).toEqual([]);
});

test('the bundle has no source file that needs Node, and nothing of the binding', () => {
  const inputs = Object.keys(metafile.inputs);
  expect(
    inputs.filter((path) => /-node\.ts$|gpu\/node\.ts$|node_modules\/(webgpu|sharp|ioredis)\//.test(path)),
  ).toEqual([]);
  expect(inputs.some((path) => path.endsWith('src/engine/text/run/loop.ts'))).toBe(true);
});

test('the bundle holds the text of every shader', () => {
  const code = readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('');
  const shaders = readdirSync(join(root, 'shaders'), { recursive: true }).filter((name) =>
    name.endsWith('.wgsl'),
  );
  expect(shaders.length).toBeGreaterThan(50);
  expect(shaders.filter((name) => !code.includes(name.replaceAll('\\', '/')))).toEqual([]);
});

test('the bundle has the licences of the packages in it', () => {
  const notices = readFileSync(join(folder, 'NOTICES.txt'), 'utf8');
  for (const words of [
    /^lru-cache [\d.]+ \(BlueOak-1\.0\.0\)$/m,
    /^h264-mp4-encoder .*$/m,
    /Mozilla Public License/,
  ])
    expect(notices).toMatch(words);
});

/** Sources of a file of the bundle and of all files that it imports when it is loaded. */
function sourcesOf(name) {
  const names = Object.keys(metafile.outputs);
  const reached = new Set();
  const visit = (output) => {
    if (reached.has(output)) return;
    reached.add(output);
    for (const { path, kind } of metafile.outputs[output].imports) if (kind !== 'dynamic-import') visit(path);
  };
  visit(names.find((output) => output.endsWith(`/${name}`)));
  return [...reached].flatMap((output) => Object.keys(metafile.outputs[output].inputs));
}

test('only the worker of the engine loads the engine', () => {
  // Names of classes and their templates are data.
  const engine =
    /src\/(gpu\/device|kernels\/|models\/(?!audio\/transcriber-names|text\/chat-templates))|src\/gpu\/browser-shaders/;
  expect(sourcesOf('engine-worker.js').some((path) => engine.test(path))).toBe(true);
  for (const name of ['index.js', 'text-worker.js'])
    expect(sourcesOf(name).filter((path) => engine.test(path))).toEqual([]);
  expect(sourcesOf('text-worker.js').some((path) => path.includes('src/grammar/'))).toBe(true);
});
