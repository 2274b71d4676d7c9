// Models that outlive the process of the engine's window: requests and calls in progress, changes of the model, a second loss, aborts, and models
// that windows share. The window's workers are hosts in this thread.

import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { openContinuing } from '../../../src/host/electron/continuing-model.ts';
import type { Loss, Thread } from '../../../src/host/electron/engine.ts';
import { SharedModels } from '../../../src/host/electron/shared-models.ts';
import { ModelHost } from '../../../src/host/thread/model-host.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import type { Model } from '../../../src/host/session/model.ts';
import type { OpenEvent } from '../../../src/engine/opening/open-event.ts';
import { PLAIN_SLEEP } from '../../../src/host/session/sleeping-model.ts';
import type { TextModel } from '../../../src/engine/text/calls/text-model.ts';
import { EngineError } from '../../../src/files/error.ts';
import { paperKind } from '../paper-session.ts';
import { portPair } from '../port-pair.ts';

type Step = { type: 'step'; step: number };
interface Counter extends Model<{ worker: number }, { steps: number }, Step> {
  loadLora(name: string): Promise<string[]>;
  adapters(): Promise<string[]>;
}

const { engine, opening } = vi.hoisted(() => ({
  engine: { start: (): Promise<unknown> => Promise.reject(new Error('not set')) },
  opening: { open: (..._given: unknown[]): unknown => null },
}));
vi.mock('../../../src/host/electron/engine.ts', () => ({ engine }));
vi.mock('../../../src/host/electron/open-main.ts', () => ({
  openModel: (...given: unknown[]) => opening.open(...given),
}));

const KIND = paperKind<{ model: string }, Counter>({
  name: 'counter',
  calls: { loadLora: { changes: true, files: true }, adapters: {} },
  sleep: () => ({
    ...PLAIN_SLEEP,
    async rest(model) {
      const names = await model.adapters();
      return {
        answers: {},
        restore: async (again) => void (await Promise.all(names.map((name) => again.loadLora(name)))),
      };
    },
  }),
});

/** Steps in every 2 ms, so that a window can end between two. */
function counter(worker: number): Counter {
  const names: string[] = [];
  const close = async (): Promise<void> => {};
  return {
    info: { worker },
    ended: new Promise(() => {}),
    asleep: false,
    async *generate({ steps }, { signal } = {}) {
      for (let step = 1; step <= steps; step++) {
        if (signal?.aborted) return;
        await new Promise((resolve) => setTimeout(resolve, 2));
        yield { type: 'step', step };
      }
    },
    loadLora: async (name) => (names.push(name), [...names]),
    adapters: async () => [...names],
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The workers that were started, and how each ends. */
const workers: { lose(reason: string): void }[] = [];

function startWorker(): Thread {
  const { near, far, break: end } = portPair();
  const number = workers.length;
  const lost: { value: Loss | null } = { value: null };
  const host = new ModelHost<object, Counter>(far, {
    calls: KIND.calls,
    open: async () => counter(number),
    release() {},
  });
  workers.push({
    lose(reason) {
      const error = new EngineError('device_lost', `the window ended (${reason})`);
      lost.value = { what: `the process of the engine's window ended (${reason})`, error };
      end(error);
    },
  });
  return {
    port: near,
    files: { allow() {} } as never,
    worker: host as never,
    get loss() {
      return lost.value;
    },
    stop: async () => {},
  };
}

let events: OpenEvent[];
beforeEach(() => {
  workers.length = 0;
  events = [];
  engine.start = async () => startWorker();
});

function open(signal?: AbortSignal): Promise<Counter> {
  const onEvent = (event: OpenEvent): void => void events.push(event);
  return openContinuing({ kind: KIND, options: { model: 'x' }, onEvent }, signal);
}

async function stepsOf(
  model: Counter,
  at: Record<number, () => unknown> = {},
  signal?: AbortSignal,
): Promise<number[]> {
  const steps: number[] = [];
  for await (const { step } of model.generate({ steps: 9 }, signal ? { signal } : {})) {
    steps.push(step);
    at[steps.length]?.();
  }
  return steps;
}

const ALL = [1, 2, 3, 4, 5, 6, 7, 8, 9];

test('requests continue in a new worker, each event once, and the model keeps its changes', async () => {
  const model = await open();
  await model.loadLora('style');
  const both = await Promise.all([stepsOf(model, { 4: () => workers[0]!.lose('crashed') }), stepsOf(model)]);
  expect(both).toEqual([ALL, ALL]);
  expect(workers).toHaveLength(2);
  expect(model.info).toEqual({ worker: 1 });
  expect(await model.adapters()).toEqual(['style']);
  expect(events.map((event) => 'message' in event && event.message)).toEqual([
    "the process of the engine's window ended (crashed); loading the model again",
  ]);
  await model.close();
});

test('an idle model is opened again by the next call', async () => {
  const model = await open();
  workers[0]!.lose('killed');
  expect(await model.adapters()).toEqual([]);
  expect(workers).toHaveLength(2);
  await model.close();
});

test('a request that sees a second loss ends with device_lost, and the next one runs', async () => {
  const model = await open();
  const twice = stepsOf(model, { 3: () => workers[0]!.lose('oom'), 6: () => workers[1]!.lose('oom') });
  await expect(twice).rejects.toMatchObject({ code: 'device_lost' });
  expect(await stepsOf(model)).toEqual(ALL);
  await model.close();
});

test('a worker that cannot be started again ends its model with the reason of the loss', async () => {
  const model = await open();
  engine.start = () => Promise.reject(new Error('no window'));
  const failing = stepsOf(model, { 2: () => workers[0]!.lose('crashed') });
  await expect(failing).rejects.toMatchObject({
    code: 'device_lost',
    message: expect.stringContaining('ended (crashed), and the model could not be opened again'),
  });
  engine.start = () => Promise.reject(new EngineError('cancelled', 'the app quits'));
  await expect(model.adapters()).rejects.toMatchObject({ code: 'cancelled' });
  await model.close();
});

test('an abort holds in the new worker too', async () => {
  const model = await open();
  const controller = new AbortController();
  const at = { 2: () => workers[0]!.lose('crashed'), 5: () => controller.abort() };
  const steps = await stepsOf(model, at, controller.signal);
  expect(steps.slice(0, 5)).toEqual([1, 2, 3, 4, 5]);
  expect(steps.length).toBeLessThan(9);
  await model.close();
});

test('an abort while the model is opened again ends the request at once', async () => {
  const model = await open();
  engine.start = () => new Promise(() => {});
  const controller = new AbortController();
  const steps = stepsOf(model, { 2: () => workers[0]!.lose('crashed') }, controller.signal);
  await expect.poll(() => events).toHaveLength(1);
  controller.abort();
  await expect(steps).rejects.toMatchObject({
    code: 'cancelled',
    message: expect.stringContaining('opened again'),
  });
});

test('a worker that does not leave after its opening was cancelled is terminated', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const stop = vi.fn(async () => {});
  const silent = { post() {}, onMessage() {}, onLost() {} };
  engine.start = async () => ({ port: silent, files: { allow() {} }, worker: null, loss: null, stop });
  const controller = new AbortController();
  const opening = open(controller.signal);
  await vi.advanceTimersByTimeAsync(1);
  controller.abort();
  await expect(opening).rejects.toMatchObject({ code: 'cancelled' });
  expect(stop).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(2000);
  expect(stop).toHaveBeenCalledOnce();
});

test('users of equal options share one model; the last one closes it', async () => {
  const closed = vi.fn(async () => {});
  const opened = vi.fn(async () => ({ ...counter(0), close: closed }));
  opening.open = opened;
  const shared = new SharedModels();
  const [gave, none] = [new AbortController(), new AbortController().signal];
  const join = (options: object, signal = none): Promise<Counter> =>
    shared.open(TEXT, options as { model: string }, () => {}, signal) as unknown as Promise<Counter>;
  const [first, second, other] = await Promise.all([
    join({ model: 'x', contextLength: 9 }),
    join({ contextLength: 9, model: 'x' }),
    join({ model: 'y' }),
  ]);
  const leaving = join({ model: 'x', contextLength: 9 }, gave.signal);
  gave.abort();
  await expect(leaving).rejects.toMatchObject({ code: 'cancelled' });
  expect(opened).toHaveBeenCalledTimes(2);
  const running = stepsOf(first);
  const aborted = stepsOf(second, { 3: () => void second.close() });
  expect((await aborted).length).toBeLessThan(9);
  expect(await running).toEqual(ALL);
  await expect((second as unknown as TextModel).loadedLoras()).rejects.toMatchObject({
    code: 'cancelled',
  });
  expect(closed).not.toHaveBeenCalled();
  await first.close();
  await other.close();
  expect(closed).toHaveBeenCalledTimes(2);
  await (await join({ model: 'x', contextLength: 9 })).close();
  expect(opened).toHaveBeenCalledTimes(3);
});

test('the opening of a shared model is cancelled when its last user leaves', async () => {
  let signal: AbortSignal | undefined;
  opening.open = (...given) => {
    signal = given[3] as AbortSignal;
    return new Promise((_resolve, reject) =>
      signal!.addEventListener('abort', () => reject(new EngineError('cancelled', 'x'))),
    );
  };
  const shared = new SharedModels();
  const users = [new AbortController(), new AbortController()];
  const joins = users.map((user) => shared.open(TEXT, { model: 'x' }, () => {}, user.signal));
  const failures = joins.map((join) => expect(join).rejects.toMatchObject({ code: 'cancelled' }));
  users[0]!.abort();
  await failures[0];
  expect(signal!.aborted).toBe(false);
  users[1]!.abort();
  await failures[1];
  expect(signal!.aborted).toBe(true);
});
