// The threads for long texts and for grammars, on ports within this thread: which tasks wait for others, and which are aborted.

import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { GrammarSource } from '../../../src/engine/text/grammar-source.ts';
import { STAGES } from '../../../src/engine/text/grammar-stages.ts';
import { connectTextThreads } from '../../../src/engine/text/text-threads.ts';
import { serveTextTasks } from '../../../src/engine/text/text-worker.ts';
import type { Port } from '../../../src/engine/session/port.ts';

const available = new Uint8Array(256).fill(1);
const source: GrammarSource = { type: 'regex', pattern: 'a' };
const THREADS = STAGES[0]!.threads;
const times = STAGES.map(({ milliseconds }) => milliseconds);
const codeOf = (error: { code: string }): string => error.code;

interface Asked {
  kind: string;
  milliseconds: number;
  stop: Int32Array;
}

/** Threads that answer when the test says so. */
function threads() {
  const started: {
    asked: Asked[];
    memory: number | undefined;
    answer(result: unknown, code?: string, param?: string | null): Promise<void>;
  }[] = [];
  const connect = (memory?: number): Port => {
    const asked: Asked[] = [];
    let receive: (message: unknown) => void = () => {};
    started.push({
      asked,
      memory,
      async answer(result, code, param = 'constraint') {
        const error = code === undefined ? null : { code, message: code, param };
        asked.shift();
        receive({ result, error });
        await setImmediate();
      },
    });
    return {
      post: (message) => void asked.push(message as Asked),
      onMessage: (listener) => void (receive = listener),
      onLost: () => {},
    };
  };
  return { started, ...connectTextThreads('model', connect) };
}

describe('grammars', () => {
  it('go on to a thread for longer ones where they take long, so that others do not wait', async () => {
    const { started, compile } = threads();
    const { signal } = new AbortController();
    const long = compile(source, available, signal);
    expect(started.map(({ asked }) => asked.map(({ milliseconds }) => milliseconds))).toEqual([[times[0]]]);
    await started[0]!.answer(null, 'timed_out');
    expect(started[1]!.asked.map(({ milliseconds }) => milliseconds)).toEqual([times[1]]);
    const quick = compile(source, available, signal);
    await started[0]!.answer('quick');
    expect(await quick).toBe('quick');
    await started[1]!.answer(null, 'out_of_memory');
    await started[2]!.answer('long');
    expect(await long).toBe('long');
    expect(started.map(({ memory }) => memory)).toEqual(STAGES.map(({ memory }) => memory));
  });

  it('are begun several at once, each in a thread, and wait here beyond that', async () => {
    const { started, compile } = threads();
    const clients = Array.from({ length: THREADS + 2 }, () => new AbortController());
    const all = clients.map(({ signal }) => compile(source, available, signal).catch(codeOf));
    expect(started).toHaveLength(THREADS);
    clients[THREADS]!.abort();
    expect(await all[THREADS]).toBe('cancelled');
    await started[0]!.answer('first');
    expect(await all[0]).toBe('first');
    await started[0]!.answer('last');
    expect(await all[THREADS + 1]).toBe('last');
    expect(started).toHaveLength(THREADS);
  });

  it('fail with what the last thread says, or at once where more time would not help', async () => {
    const { started, compile } = threads();
    const { signal } = new AbortController();
    const late = compile(source, available, signal).catch(codeOf);
    for (const at of STAGES.keys()) await started[at]!.answer(null, 'timed_out');
    expect(await late).toBe('timed_out');
    const bad = compile(source, available, signal).catch(codeOf);
    await started[0]!.answer(null, 'bad_request');
    expect(await bad).toBe('bad_request');
    expect(started.map(({ asked }) => asked.length)).toEqual([0, 0, 0]);
  });

  it('stop where they are compiled once nobody waits, and go on nowhere', async () => {
    const { started, compile } = threads();
    const client = new AbortController();
    const left = compile(source, available, client.signal).catch(codeOf);
    const [{ stop }] = started[0]!.asked as [Asked];
    expect(stop[0]).toBe(0);
    client.abort();
    expect(stop[0]).toBe(1);
    expect(await left).toBe('cancelled');
    await started[0]!.answer(null, 'timed_out');
    expect(started).toHaveLength(1);
  });
});

it('texts have a thread of their own', async () => {
  const { started, compile, encode } = threads();
  void compile(source, available, new AbortController().signal).catch(() => {});
  const ids = encode('text', false);
  expect(started.map(({ asked }) => asked.map(({ kind }) => kind))).toEqual([['compile'], ['encode']]);
  await started[1]!.answer([1, 2]);
  expect(await ids).toEqual([1, 2]);
});

it.each([
  ['timed_out', '10 s'],
  ['out_of_memory', '1024 MiB'],
])('a conversation whose thread ends as %s is refused by its messages', async (code, most) => {
  const { started, render } = threads();
  const rendered = render({ messages: [] }).catch((error: unknown) => error);
  await started[0]!.answer(null, code, null);
  expect(await rendered).toMatchObject({
    code: 'bad_request',
    param: 'messages',
    message: `the chat template takes more than ${most} to render these messages: send fewer or shorter ones`,
  });
});

it('a thread compiles what it is asked for, and nothing that nobody waits for', async () => {
  const connect = (): Port => {
    let toFar: (message: unknown) => void = () => {};
    let toNear: (message: unknown) => void = () => {};
    const far = { post: (message: unknown) => toNear(message), onLost: () => {} };
    serveTextTasks({ ...far, onMessage: (listener) => void (toFar = listener) }, () => Promise.reject());
    return {
      post: (message) => queueMicrotask(() => toFar(message)),
      onMessage: (listener) => void (toNear = listener),
      onLost: () => {},
    };
  };
  const { compile } = connectTextThreads('model', connect);
  const client = new AbortController();
  expect((await compile(source, available, client.signal)).nodes.length).toBeGreaterThan(0);
  await expect(compile({ type: 'regex', pattern: '(' }, available, client.signal)).rejects.toMatchObject({
    code: 'bad_request',
  });
  const left = compile({ type: 'regex', pattern: '[ab]{1000}' }, available, client.signal);
  client.abort();
  await expect(left).rejects.toMatchObject({ code: 'cancelled' });
});

it('stop expressions have a thread of their own', async () => {
  const { started, compile, stops } = threads();
  const { signal } = new AbortController();
  void compile(source, available, signal).catch(codeOf);
  const tables = stops(['a{3000}']);
  expect(started.map(({ asked }) => asked.map(({ kind }) => kind))).toEqual([['compile'], ['stops']]);
  await started[1]!.answer([]);
  expect(await tables).toEqual([]);
});
