// Signals while svc opens the shipped image model in real threads: each command ends with its documented exit code.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { temporaryFolders } from '../files/folders.ts';
import { nodeArgs } from '../started.ts';

const MAIN = new URL('../../src/cli/main.ts', import.meta.url);
const MODEL = fileURLToPath(new URL('../../models/svc-scenes-mini', import.meta.url));
const COMMANDS = {
  serve: ['serve', '--model-path', MODEL, '--port', '0'],
  generate: ['generate', '--model-path', MODEL, '--prompt', 'a house', '--warmup'],
};

const folderOf = temporaryFolders();
const children: ChildProcessWithoutNullStreams[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** Runs a command, and sends the signal as soon as its log has `text`. */
async function interrupted(command: keyof typeof COMMANDS, signal: 'SIGINT' | 'SIGTERM', text: string) {
  const cwd = await folderOf({});
  const child = spawn(process.execPath, nodeArgs(MAIN, ...COMMANDS[command]), { cwd });
  children.push(child);
  let log = '';
  const hear = (bytes: Buffer): void => {
    const had = log.includes(text);
    log += String(bytes);
    if (!had && log.includes(text)) child.kill(signal);
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  const ended = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
    child.once('close', (code, by) => resolve([code, by])),
  );
  return { ended, log };
}

const LISTENING = 'Listening on';
/** Written when the device's adapter is looked for. */
const DEVICE = 'artificially reduced';
const WEIGHTS = 'Loading weights';
it.each([
  ['serve', 'SIGTERM', LISTENING, 0],
  ['serve', 'SIGINT', LISTENING, 130],
  ['serve', 'SIGTERM', DEVICE, 0],
  ['serve', 'SIGTERM', WEIGHTS, 0],
  ['generate', 'SIGTERM', DEVICE, 130],
  ['generate', 'SIGINT', WEIGHTS, 130],
] as const)(
  'svc %s ends as documented at %s after "%s"',
  async (command, signal, text, code) => {
    const { ended, log } = await interrupted(command, signal, text);
    expect(log).toContain(text);
    expect(ended, log).toEqual([code, null]);
    expect(log).not.toMatch(/Promise not resolved|terminate called/);
  },
  60_000,
);
