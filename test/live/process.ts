// Runs `svc serve` as a user starts it: the built command in a separate process on a free port.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface ServedModel {
  url: string;
  child: ChildProcess;
  /** Returns everything that it has printed. */
  log(): string;
  /** [exit code, signal] */
  ended: Promise<[number | null, string | null]>;
}

/** Builds if sources are newer; does nothing under `npm test`, which has built already. */
export function build(): void {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/setup/build.mjs'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
}

/** Starts it without waiting. `runtime`: the program that runs JavaScript, and its arguments. */
export async function launch(
  args: string[],
  env: Record<string, string> = {},
  runtime: string[] = [process.execPath],
): Promise<ServedModel> {
  const port = await freePort();
  const child = spawn(
    runtime[0]!,
    [
      ...runtime.slice(1),
      'dist/cli/main.js',
      'serve',
      '--port',
      String(port),
      '--memory-budget',
      '1g',
      ...args,
    ],
    { cwd: ROOT, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (log += String(bytes)));
  const ended = once(child, 'close') as ServedModel['ended'];
  return { url: `http://127.0.0.1:${port}`, child, log: () => log, ended };
}

/** Starts it and waits until it is ready. */
export async function serve(
  args: string[],
  env: Record<string, string> = {},
  runtime?: string[],
): Promise<ServedModel> {
  const served = await launch(args, env, runtime);
  while (served.child.exitCode === null && served.child.signalCode === null) {
    const reply = await fetch(`${served.url}/readyz`).catch(() => null);
    await reply?.text();
    if (reply?.ok) return served;
    await sleep(20);
  }
  throw new Error(`the server left before it was ready:\n${served.log()}`);
}

/** A port of this machine that nothing listened on a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
