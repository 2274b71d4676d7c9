// What commands load before they run: only commands that open models load the engine, and only when they run.

import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';

const SRC = new URL('../../src/', import.meta.url);

/** Files that a file loads when it is imported, by `import` and `export … from`, but for types. */
function loadedBy(file: string, known = new Set<string>()): Set<string> {
  if (known.has(file)) return known;
  known.add(file);
  const code = readFileSync(new URL(file, SRC), 'utf8');
  const statements = code.matchAll(/^(?:import|export)\s+(?!type\b)(?:[^'";]*?\sfrom\s*)?'(\.[^'\n]+)'/gm);
  for (const [, target] of statements) loadedBy(posix.join(posix.dirname(file), target!), known);
  return known;
}

const roomsOf = (file: string): string[] => [
  ...new Set([...loadedBy(file)].map((name) => name.split('/')[0]!)),
];

it('the scan of imports follows them', () => {
  expect([...loadedBy('index.ts')]).toContain('host/node/start-worker.ts');
  expect(loadedBy('cli/chat/chat.ts').size).toBeGreaterThan(loadedBy('cli/version.ts').size);
});

it('the executable and its list of commands load no engine', () => {
  // What is loaded before the version of Node is known to be new enough.
  expect([...loadedBy('cli/main.ts')]).toEqual(['cli/main.ts', 'options/node-version.ts']);
  const loaded = ['cli/run.ts', 'cli/commands.ts'].flatMap((file) => [...loadedBy(file)]);
  expect(new Set(loaded.map((name) => name.split('/')[0]))).toEqual(new Set(['cli', 'files', 'options']));
  const files = new Set(loaded.filter((name) => name.startsWith('files/')));
  expect(files).toEqual(new Set(['files/error.ts', 'files/message.ts']));
});

it('the public face checks the version of Node before it loads other files', () => {
  expect([...loadedBy('index.ts')].slice(0, 5)).toEqual([
    'index.ts',
    'host/node/version-check.ts',
    'files/error.ts',
    'files/message.ts',
    'options/node-version.ts',
  ]);
});

it('the public face loads the code that opens models when one is opened', () => {
  const loaded = loadedBy('index.ts');
  const openers = ['text/open', 'image/open', 'embedding/open', 'text/plan-text'].map(
    (name) => `engine/${name}.ts`,
  );
  for (const file of [...openers, 'host/node/worker.ts'])
    expect([file, loaded.has(file), loadedBy(file).size > 100]).toEqual([file, false, true]);
});

it.each(['version', 'list', 'rm', 'pull', 'plan', 'doctor/doctor'])(
  'the command %s loads no engine for its help',
  async (file) => {
    expect(await COMMANDS[posix.basename(file)]!.load()).toHaveProperty('run');
    expect(roomsOf(`cli/${file}.ts`).filter((room) => !['cli', 'files', 'options'].includes(room))).toEqual(
      [],
    );
  },
);
