// Threads that are terminated during a task: if it takes too long, or if its caller has left.

import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { EngineError } from '../../../src/files/error.ts';
import type { Port } from '../../../src/engine/platform/port.ts';
import { GRACE } from '../../../src/engine/platform/task-thread.ts';
import { TaskThreads } from '../../../src/engine/platform/task-threads.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Started {
  tasks: unknown[];
  ended: boolean;
  ready(): void;
  answer(result: unknown): void;
  lose(error: Error): void;
}

/** A port that starts threads which answer when the test says so. */
function connector(): { started: Started[]; connect(): Port } {
  const started: Started[] = [];
  const connect = (): Port => {
    let receive: (message: unknown) => void = () => {};
    let lose: (error: Error) => void = () => {};
    const thread: Started = {
      tasks: [],
      ended: false,
      ready: () => receive('ready'),
      answer: (result) => receive({ result, error: null }),
      lose: (error) => lose(error),
    };
    started.push(thread);
    return {
      post: (message) => void thread.tasks.push(message),
      onMessage: (listener) => void (receive = listener),
      onLost: (listener) => void (lose = listener),
      end: () => void (thread.ended = true),
    };
  };
  return { started, connect };
}

const task = (name: string): object => ({ name });

it('a task that does not end by itself in its time ends with its thread, and another thread takes the next', async () => {
  const { started, connect } = connector();
  const threads = new TaskThreads(connect);
  const stuck = threads.run(task('stuck'), { milliseconds: 50 }).catch((error: EngineError) => error.code);
  const next = threads.run(task('next'), { milliseconds: 50 });
  await vi.advanceTimersByTimeAsync(5000);
  expect(started.map(({ ended }) => ended)).toEqual([false]); // it is still loading
  started[0]!.ready();
  await vi.advanceTimersByTimeAsync(50 + GRACE);
  expect(await stuck).toBe('timed_out');
  expect(started.map(({ ended, tasks }) => [ended, tasks])).toEqual([
    [true, [task('stuck')]],
    [false, [task('next')]],
  ]);
  started[0]!.answer('far too late');
  started[0]!.lose(new Error('ended'));
  started[1]!.answer('done');
  expect(await next).toBe('done');
});

it('a task that nobody waits for is asked to stop, and its thread is ended where it does not', async () => {
  const { started, connect } = connector();
  const threads = new TaskThreads(connect);
  const client = new AbortController();
  const stop = vi.fn();
  const left = threads
    .run(task('left'), { signal: client.signal, stop })
    .catch((error: EngineError) => error.code);
  client.abort();
  expect(await left).toBe('cancelled');
  expect(stop).toHaveBeenCalledTimes(1);
  expect(started[0]!.ended).toBe(false);
  await vi.advanceTimersByTimeAsync(GRACE);
  expect(started[0]!.ended).toBe(true);

  const another = new AbortController();
  const polite = threads.run(task('polite'), { signal: another.signal, stop }).catch(() => {});
  another.abort();
  await polite;
  started[1]!.answer(null);
  await vi.advanceTimersByTimeAsync(10 * GRACE);
  expect(started[1]!.ended).toBe(false);
});

it('a task that nobody waits for any more while its thread loads has no further time once that is ready', async () => {
  const { started, connect } = connector();
  const threads = new TaskThreads(connect);
  const client = new AbortController();
  const left = threads.run(task('left'), { signal: client.signal, stop() {} }).catch(() => {});
  client.abort();
  await left;
  started[0]!.ready();
  await vi.advanceTimersByTimeAsync(GRACE);
  expect(started[0]!.ended).toBe(true);
});

it('a task that nobody waits for before its turn is never begun', async () => {
  const { started, connect } = connector();
  const threads = new TaskThreads(connect);
  void threads.run(task('first'));
  const client = new AbortController();
  const waiting = threads
    .run(task('left'), { signal: client.signal })
    .catch((error: EngineError) => error.code);
  client.abort();
  expect(await waiting).toBe('cancelled');
  started[0]!.answer(null);
  expect(started[0]!.tasks).toEqual([task('first')]);
});

it('a thread without a task is ended after its idle time, and started again', async () => {
  const { started, connect } = connector();
  const threads = new TaskThreads(connect, { idle: 5000 });
  const first = threads.run(task('first'));
  started[0]!.answer(1);
  await first;
  await vi.advanceTimersByTimeAsync(4000);
  const second = threads.run(task('second'));
  await vi.advanceTimersByTimeAsync(4000);
  expect(started.map(({ ended }) => ended)).toEqual([false]);
  started[0]!.answer(2);
  await second;
  await vi.advanceTimersByTimeAsync(5000);
  expect(started.map(({ ended }) => ended)).toEqual([true]);
  void threads.run(task('third'));
  expect(started[1]!.tasks).toEqual([task('third')]);
});

it('a thread that is lost fails its task alone', async () => {
  const { started, connect } = connector();
  const threads = new TaskThreads(connect);
  const lost = threads.run(task('lost')).catch((error: EngineError) => error.code);
  const next = threads.run(task('next'));
  started[0]!.lose(new EngineError('out_of_memory', 'no memory'));
  expect(await lost).toBe('out_of_memory');
  started[1]!.answer('done');
  expect(await next).toBe('done');
});

it('a thread that ends during a task is started again before the next task comes', async () => {
  const { started, connect } = connector();
  const threads = new TaskThreads(connect, { idle: 5000 });
  const lost = threads.run(task('lost')).catch((error: EngineError) => error.code);
  started[0]!.ready();
  started[0]!.lose(new EngineError('out_of_memory', 'no memory'));
  expect(await lost).toBe('out_of_memory');
  expect(started).toHaveLength(2);
  started[1]!.ready();
  void threads.run(task('stuck'), { milliseconds: 50 }).catch(() => {});
  await vi.advanceTimersByTimeAsync(50 + GRACE);
  expect(started.map(({ ended }) => ended)).toEqual([false, true, false]);
  // The new one has no task, and is not kept longer than any other.
  await vi.advanceTimersByTimeAsync(5000);
  expect(started.map(({ ended }) => ended)).toEqual([false, true, true]);
});

it('a thread that ends before it is loaded is not started again and again', async () => {
  const { started, connect } = connector();
  const threads = new TaskThreads(connect);
  const lost = threads.run(task('lost')).catch((error: EngineError) => error.code);
  started[0]!.lose(new EngineError('internal', 'no file'));
  expect(await lost).toBe('internal');
  expect(started).toHaveLength(1);
});

it('a task that comes after many waits for the turn of one, and the first ones are not overtaken for ever', async () => {
  const { started, connect } = connector();
  const threads = new TaskThreads(connect);
  for (const name of ['running', 'first', 'second', 'third', 'last']) void threads.run(task(name));
  for (let i = 0; i < 4; i++) {
    started[0]!.answer(null);
    await vi.advanceTimersByTimeAsync(0);
  }
  expect(started[0]!.tasks).toEqual(['running', 'last', 'first', 'third', 'second'].map(task));
});

it('many tasks of one signal are one listener of it, and all end when it aborts', async () => {
  const { connect } = connector();
  const threads = new TaskThreads(connect);
  const client = new AbortController();
  const codes = Array.from({ length: 12 }, (_, i) =>
    threads.run(task(`${i}`), { signal: client.signal }).catch((error: EngineError) => error.code),
  );
  // Node warns of a leak from the eleventh on.
  expect(getEventListeners(client.signal, 'abort')).toHaveLength(1);
  client.abort();
  expect(await Promise.all(codes)).toEqual(Array(12).fill('cancelled'));
});
