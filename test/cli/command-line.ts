// Runs command lines in this process, which costs a hundredth of what starting one does.

import { vi } from 'vitest';
import { EXIT } from '../../src/cli/process/exit.ts';
import { type Commands, runLine } from '../../src/cli/run.ts';

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** `env`: laid over the environment meanwhile. */
export async function runHere(
  commands: Commands,
  args: string[],
  env: Record<string, string>,
): Promise<Ended> {
  const seen = { out: '', err: '' };
  const keep = (stream: 'out' | 'err') => (text: string | Uint8Array) => {
    seen[stream] += String(text);
    return true;
  };
  const out = vi.spyOn(process.stdout, 'write').mockImplementation(keep('out'));
  const err = vi.spyOn(process.stderr, 'write').mockImplementation(keep('err'));
  const own = Object.keys(env).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, env);
  process.exitCode = EXIT.ok;
  try {
    await runLine(args, commands);
    return { code: process.exitCode, ...seen };
  } finally {
    process.exitCode = undefined;
    out.mockRestore();
    err.mockRestore();
    for (const [name, value] of own)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  }
}
