// Runs svc generate in this process, with the fake model unless a test brings another; returns its output and the requests to the engine.

import { runCommand } from 'citty';
import { vi } from 'vitest';
import { EXIT, exitCodeOf } from '../../../src/cli/process/exit.ts';
import { createGenerate, type OpenImageModel } from '../../../src/cli/generate/generate.ts';
import { createFakeImageModel, type FakeImageModel } from '../fake-image-model.ts';
import { afterEachTest } from '../../hooks.ts';

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
  return { ...(await generateWith(fake.open, rawArgs)), fake };
}

/** Runs the command on a model that `open` opens. */
export async function generateWith(open: OpenImageModel, rawArgs: string[]): Promise<Omit<Outcome, 'fake'>> {
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
    await runCommand(createGenerate(open), { rawArgs });
    return { code: process.exitCode, ...seen };
  } catch (error) {
    return { code: exitCodeOf(error), ...seen, err: `${seen.err}${String(error)}` };
  } finally {
    out.mockRestore();
    err.mockRestore();
    process.exitCode = undefined;
  }
}
