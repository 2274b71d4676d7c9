// One stage of gpu-check in a process of its own, which is ended at its deadline with all that it started. This file is both sides: imported, it
// starts the process; started, it measures.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { withoutPaths } from './report.mjs';

const own = fileURLToPath(import.meta.url);
/** Characters of a failed stage's output that the report keeps. */
const TAIL = 2000;

/** Runs a stage and hands what it measures to `sink`; never rejects for what the stage does. */
export async function runStage(job, sink) {
  const begun = performance.now();
  const child = fork(own, [], {
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, XDG_RUNTIME_DIR: process.env.XDG_RUNTIME_DIR ?? job.scratch },
  });
  let tail = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (tail = (tail + text).slice(-TAIL)));
  let error;
  let isDone = false;
  child.on('message', (message) => {
    if (message.put) sink.put(...message.put);
    else if (message.row) sink.row(...message.row);
    else if (message.error) ({ error } = message);
    else isDone = true;
  });
  const end = () => endAll(child);
  process.once('exit', end);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    end();
  }, job.milliseconds);
  child.send(job);
  const [code, signal] = await once(child, 'close');
  clearTimeout(timer);
  process.off('exit', end);
  end(); // what it started may outlast it
  const seconds = (performance.now() - begun) / 1000;
  if (isDone) return { status: 'done', seconds };
  const reason =
    error ?? (isLate ? 'it was ended at its deadline' : `its process ended with ${signal ?? code}`);
  const output = tail.trim() === '' ? {} : { output: withoutPaths(tail.trim()) };
  return { status: isLate ? 'timed out' : 'failed', seconds, error: withoutPaths(reason), ...output };
}

function endAll(child) {
  try {
    if (process.platform === 'win32') child.kill('SIGKILL');
    else process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

async function measure() {
  const [job] = await once(process, 'message');
  process.once('disconnect', () => process.exit(1));
  const send = (message) => new Promise((resolve) => process.send(message, resolve));
  const sink = {
    put: (key, value) => void send({ put: [key, value] }),
    row: (list, row) => void send({ row: [list, row] }),
  };
  try {
    const ends = performance.now() + job.milliseconds;
    const { measure: run } = await import(new URL(`${job.stage}.mjs`, import.meta.url).href);
    await run({ ...job, sink, left: () => ends - performance.now() });
    await send({ done: true });
    process.exit(0);
  } catch (error) {
    console.error(error);
    await send({ error: error instanceof Error ? error.message : String(error) });
    process.exit(1);
  }
}

if (process.argv[1] === own) await measure();
