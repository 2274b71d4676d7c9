// The threads for long texts and for grammars, on ports within this thread: which tasks wait for others, and which are aborted.

import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { GrammarSource } from '../../../../src/engine/text/threads/grammar-source.ts';
import { connectTextThreads } from '../../../../src/engine/text/threads/text-threads.ts';
import { serveTextTasks } from '../../../../src/engine/text/threads/text-worker.ts';
import type { Port } from '../../../../src/engine/platform/port.ts';

const available = new Uint8Array(256).fill(1);
const source: GrammarSource = { type: 'regex', pattern: 'a' };
const unowned = () => ({ signal: new AbortController().signal, client: null });
const codeOf = (error: { code: string }): string => error.code;

interface Asked {
  kind: string;
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

it('texts have a thread of their own', async () => {
  const { started, compile, encode } = threads();
  void compile(source, available, unowned()).catch(() => {});
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

it('a thread compiles what requests ask for, and nothing that no request waits for', async () => {
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
  expect(
    (await compile(source, available, { signal: client.signal, client: null })).nodes.length,
  ).toBeGreaterThan(0);
  await expect(
    compile({ type: 'regex', pattern: '(' }, available, { signal: client.signal, client: null }),
  ).rejects.toMatchObject({
    code: 'bad_request',
  });
  const left = compile({ type: 'regex', pattern: '[ab]{1000}' }, available, {
    signal: client.signal,
    client: null,
  });
  client.abort();
  await expect(left).rejects.toMatchObject({ code: 'cancelled' });
});

it('stop expressions have a thread of their own', async () => {
  const { started, compile, stops } = threads();
  void compile(source, available, unowned()).catch(codeOf);
  const tables = stops(['a{3000}']);
  expect(started.map(({ asked }) => asked.map(({ kind }) => kind))).toEqual([['compile'], ['stops']]);
  await started[1]!.answer([]);
  expect(await tables).toEqual([]);
});
