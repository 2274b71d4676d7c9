// Checks the package that npm would publish, installed in an empty folder with the published dependencies only: links of its README lead to files of it, the
// command answers, the library imports, its types hold under the strictest settings and need no newer compiler than they have to, and the shipped model holds
// a conversation and runs the examples from there. Needs no network: dependencies are linked from the clone.

import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { makeGoldens } from './setup/goldens.mjs';
import { npm, root } from './setup/packages.mjs';
import { brokenLinks, newerTypes } from './packed-files.mjs';

const IMPORT = `
  import { EngineError } from 'svc-engine';
  if (!(new EngineError('internal', 'x') instanceof Error)) process.exit(1);`;

/** The README's first program, compiled as a user does: libraries are checked, and the types of browsers are not available. */
const PROGRAM = `
  import { openTextModel as openInElectron } from 'svc-engine/electron/main';
  import type { WindowEngine } from 'svc-engine/electron/preload';
  import { createLanguageModel } from 'svc-engine/prompt-api';
  import { EngineError, openImageModel, openTextModel, shippedModelPath, type ContentPart, type TextEvent } from 'svc-engine';
  await using model = await openTextModel({ model: shippedModelPath() });
  const events: AsyncIterable<TextEvent> = model.generate({ prompt: { text: 'x' } });
  for await (const event of events) if (event.type === 'delta') console.log(event.text);
  const opening = openImageModel({ model: 'x' }).catch((error: EngineError) => error.code);
  console.log(await opening);
  const parts: ContentPart[] = [{ type: 'text', text: 'x' }, { type: 'image', image: new Uint8Array(3), maxTiles: 1 }];
  for (const part of parts) console.log(part.type === 'text' ? part.text.length : part.type === 'image' ? part.image : null);
  // @ts-expect-error: there are no parts of this type.
  parts.push({ type: 'picture', image: new Uint8Array(3) });
  // @ts-expect-error: the bytes of the image are missing.
  parts.push({ type: 'image' });
  const chat = model.chat({
    tools: {
      fixed: {
        schema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
        run: ({ n }) => n.toFixed(1),
      },
    },
  });
  const { value } = await chat.send('x', { schema: { type: 'array', items: { enum: ['a', 'b'] } } });
  const letters: ('a' | 'b')[] = value;
  for await (const event of chat.send('x')) if (event.type === 'done') console.log(event.reply.text, letters);
  export const LanguageModel = createLanguageModel({ open: async () => model });
  export const inElectron = openInElectron({ model: 'x' });
  export const inWindow = (window: WindowEngine) => window.openTextModel({ model: 'x' });`;

/** What a page does, without the types of Node and with the libraries of an ordinary configuration. */
const PAGE = `
  import { openTextModel } from 'svc-engine/browser';
  export const model = openTextModel({ model: 'x' });`;

/** What a program with the AI SDK does: it has the package of the SDK's types, which others need not have. */
const WITH_SDK = `
  import type { LanguageModelV3, ProviderV3 } from '@ai-sdk/provider';
  import { openTextModel } from 'svc-engine';
  import { createSvcEngine, languageModel } from 'svc-engine/ai';
  export const model: LanguageModelV3 = languageModel(() => openTextModel({ model: 'x' }));
  export const provider: ProviderV3 = createSvcEngine({ text: { x: () => openTextModel({ model: 'x' }) } });`;

/** The SDK's types need @types/json-schema, which they do not bring. */
const JSON_SCHEMA = 'export type JSONSchema7 = object; export type JSONSchema7Definition = object;';
const WITH_SCHEMAS = { paths: { 'json-schema': ['./schemas.ts'] } };

const COMPILER_OPTIONS = {
  strict: true,
  skipLibCheck: false,
  noEmit: true,
  module: 'nodenext',
  target: 'es2023',
  lib: ['es2023', 'esnext.disposable'],
  types: ['node'],
};

const IN_PAGE = { module: 'esnext', moduleResolution: 'bundler', lib: ['es2022', 'dom'], types: [] };

/** The programs of scripts/examples/library, with what they print. */
const EXAMPLES = {
  'structured.mjs': { says: /^\{ capital: 'Paris' \}$/m },
  'tools.mjs': { says: /^get_weather\(\{"city":"Paris"\}\).*\n.*Paris/m },
  'images.mjs': { says: /^drawn\.png: 128 × 128 pixels, seed \d+$[^]*^redrawn\.png: 128 × 128 pixels/m },
  'search.mjs': {
    args: ['Which animal gives milk?', join(root, 'test/golden/embedding/bert')],
    says: /^(0\.\d{3} .+\n){4}$/m,
  },
};

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const folder = mkdtempSync(join(tmpdir(), 'svc-pack-'));
try {
  makeGoldens();
  install(pack());
  const bin = join(folder, 'node_modules', manifest.name, manifest.bin[manifest.name]);
  expect('version', run([bin, 'version']), (text) => text.trim() === manifest.version);
  expect('import', run(['--input-type=module', '-e', IMPORT]), () => true);
  expect('types', compile({ program: PROGRAM }), () => true);
  expect('types in a page', compile({ page: PAGE }, IN_PAGE), () => true);
  link('@ai-sdk/provider');
  expect('types with the AI SDK', compile({ sdk: WITH_SDK, schemas: JSON_SCHEMA }, WITH_SCHEMAS), () => true);
  expect('chat', run([bin, 'chat', '--temperature', '0'], 'Hello!\n'), (text) => /\w/.test(text));
  for (const [example, { args = [], says }] of Object.entries(EXAMPLES))
    expect(example, runExample(example, args), (text) => says.test(text));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}

/** @returns {string} the path of the tarball */
function pack() {
  const { status, stdout, stderr } = npm(['pack', '--json', '--silent', `--pack-destination=${folder}`], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`npm pack failed:\n${stderr}`);
  const [{ filename, files }] = JSON.parse(stdout);
  const paths = files.map(({ path }) => path);
  const wanted = [
    'package.json',
    'README.md',
    'LICENSE',
    'dist/index.js',
    'dist/index.d.ts',
    'dist/browser/NOTICES.txt',
  ];
  const missing = wanted.filter((path) => !paths.includes(path));
  const isOurs = (path) =>
    /^(dist|shaders|models|scripts\/examples)\//.test(path) || path.endsWith('README.md');
  const foreign = paths.filter((path) => !isOurs(path) && !wanted.includes(path));
  const broken = brokenLinks(root, paths);
  const newer = newerTypes(root, paths);
  if (missing.length > 0) throw new Error(`The package lacks ${missing.join(', ')}.`);
  if (foreign.length > 0) throw new Error(`The package should not hold ${foreign.join(', ')}.`);
  if (broken.length > 0) throw new Error(`Links of the package lead nowhere: ${broken.join(', ')}.`);
  if (newer.length > 0)
    throw new Error(`Types need a newer compiler than 5.0 (see setup/plain-types.mjs): ${newer.join(', ')}.`);
  return join(folder, filename);
}

/** Runs an example as a user does who copies it into a project. */
function runExample(name, args) {
  copyFileSync(
    join(folder, 'node_modules', manifest.name, 'scripts/examples/library', name),
    join(folder, name),
  );
  return run([name, ...args]);
}

function install(tarball) {
  const modules = join(folder, 'node_modules');
  const target = join(modules, manifest.name);
  mkdirSync(target, { recursive: true });
  const tar = spawnSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1'], { encoding: 'utf8' });
  if (tar.status !== 0) throw new Error(`tar failed: ${tar.stderr}`);
  for (const name of Object.keys(manifest.dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name), 'junction');
  }
}

/** Only the clone's compiler and the types of Node are available. */
function compile(programs, options = {}) {
  link('@types/node', 'undici-types');
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const files = Object.keys(programs).map((name) => `${name}.ts`);
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(folder, `${name}.ts`), text);
  const settings = { compilerOptions: { ...COMPILER_OPTIONS, ...options }, files };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  return run([join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', folder]);
}

/** Makes packages of the clone available. */
function link(...names) {
  for (const name of names) {
    const path = join(folder, 'node_modules', name);
    mkdirSync(dirname(path), { recursive: true });
    if (!existsSync(path)) symlinkSync(join(root, 'node_modules', name), path, 'junction');
  }
}

function run(args, input = '') {
  return spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', input, timeout: 120_000 });
}

function expect(what, { status, stdout, stderr }, isRight) {
  if (status !== 0 || !isRight(stdout)) {
    throw new Error(`${what}, from the installed package, ended with ${status}:\n${stdout}${stderr}`);
  }
}
