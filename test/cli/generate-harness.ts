// Runs svc generate in this process with the fake model; returns its output, its files and the requests to the engine.

import { runCommand } from 'citty';
import { vi } from 'vitest';
import { EXIT, exitCodeOf } from '../../src/cli/exit.ts';
import { createGenerate } from '../../src/cli/generate.ts';
import { createFakeImageModel, type FakeImageModel } from './fake-image-model.ts';
import { afterEachTest } from '../hooks.ts';

export interface Outcome {
  code: number;
  out: string;
  err: string;
  fake: FakeImageModel;
}

afterEachTest(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

/** Arguments after `svc generate`. */
export async function generate(...rawArgs: string[]): Promise<Outcome> {
  const fake = createFakeImageModel();
  const seen = { out: '', err: '' };
  const out = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    seen.out += String(text);
    return true;
  });
  const err = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    seen.err += String(text);
    return true;
  });
  process.exitCode = EXIT.ok;
  try {
    await runCommand(createGenerate(fake.open), { rawArgs });
    return { code: process.exitCode, ...seen, fake };
  } catch (error) {
    return { code: exitCodeOf(error), ...seen, err: `${seen.err}${String(error)}`, fake };
  } finally {
    out.mockRestore();
    err.mockRestore();
    process.exitCode = undefined;
  }
}
