// Files that options name, read in bounded memory.

import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readArguments } from '../../../src/cli/options/arguments.ts';
import { readBounded } from '../../../src/cli/process/bounded-file.ts';

it.skipIf(process.platform === 'win32')('a device is not read as a file', async () => {
  await expect(readBounded('/dev/zero', 'the file x', 10)).rejects.toThrow(/^the file x is a device/);
});

it('a file is read whole, up to a bound', async () => {
  const path = join(await mkdtemp(join(tmpdir(), 'svc-bounded-')), 'file');
  await writeFile(path, 'twelve bytes');
  expect(String(await readBounded(path, 'the file x', 12))).toBe('twelve bytes');
  await expect(readBounded(path, 'the file x', 11)).rejects.toThrow(/^the file x is longer than/);
});

it('the error of --model-path says to give the model by itself', () => {
  const model = { name: 'model', help: '', required: false, elsewhere: ['model-path'] };
  expect(() => readArguments(['--model-path', 'x'], {}, [model])).toThrow(
    'there is no option --model-path here: give the model by itself',
  );
});
