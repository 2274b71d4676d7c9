// One fake kind of model through everything that models share: opened in the same thread and behind a port, asleep and awake, on a
// device that is lost. It provides only what every kind does: its calls, its engine and its sleep.

import { describe, expect, it, vi } from 'vitest';
import type { EngineError } from '../../../src/files/error.ts';
import type { Platform } from '../../../src/engine/platform/platform.ts';
import { EventQueue } from '../../../src/engine/async/event-queue.ts';
import type { ServedDevice, Service } from '../../../src/engine/opening/served.ts';
import { ModelHost } from '../../../src/host/thread/model-host.ts';
import type { SessionOptions } from '../../../src/host/kinds/kind-face.ts';
import { openProxy } from '../../../src/host/thread/model-proxy.ts';
import type { Model } from '../../../src/host/session/model.ts';
import type { OpenEvent } from '../../../src/engine/opening/open-event.ts';
import { openInline } from '../../../src/host/open.ts';
import { letSleep } from '../../../src/host/session/sleeping-model.ts';
import { BoundedWaitQueue } from '../../../src/engine/async/wait-queue.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { PaperDevice, paperKind, partsOn, type PaperParts } from '../paper-session.ts';
import { portPair } from '../port-pair.ts';

interface Request {
  words: number;
}
type Event = { word: number; device: number };
interface Paper extends Model<{ name: string }, Request, Event> {
  /** Returns the index of the device on which it runs. */
  where(): Promise<number>;
}

/** Each step takes one turn of the event loop on the device, and is repeated if the device was lost. */
class LocalPaper implements Service<Paper> {
  readonly info = { name: 'paper' };
  readonly #session: ServedDevice<PaperParts>;

  constructor(session: ServedDevice<PaperParts>) {
    this.#session = session;
  }

  async *generate({ words }: Request, { signal }: { signal?: AbortSignal } = {}): AsyncGenerator<Event> {
    this.#session.assertOpen();
    for (let word = 0; word < words; word++) {
      signal?.throwIfAborted();
      yield { word, device: await this.#step() };
    }
  }

  async #step(): Promise<number> {
    for (;;) {
      const { paper } = await this.#session.ready();
      try {
        await new Promise((resolve) => setImmediate(resolve));
        if (paper.isLost) throw new Error('a mapping was aborted');
        return paper.nth;
      } catch (error) {
        if ((await this.#session.loss()) === null || this.#session.isClosed) throw error;
      }
    }
  }

  async where(): Promise<number> {
    return this.#session.parts.paper.nth;
  }
}

type PaperOptions = SessionOptions & { device: PaperDevices };

/** The devices of a test, in the order they were opened. */
class PaperDevices {
  readonly opened: PaperDevice[] = [];
  /** Runs while a model is loaded. */
  onLoad: (device: PaperDevice) => void | Promise<void> = () => {};

  get last(): PaperDevice {
    return this.opened.at(-1)!;
  }

  open(): Device {
    this.opened.push(new PaperDevice(this.opened.length + 1));
    return this.last as unknown as Device;
  }
}

const PAPER = paperKind<PaperOptions, Paper>({
  calls: { where: { passive: true } },
  engine:
    async () =>
    async (_platform, { device: devices }) => ({
      openDevice: async () => devices.open(),
      async load(device, _, onLoad) {
        onLoad({ type: 'load', bytes: 0, totalBytes: 1 });
        await devices.onLoad(partsOn(device).paper);
        if (partsOn(device).paper.isLost) throw new Error('a mapping was aborted');
        onLoad({ type: 'load', bytes: 1, totalBytes: 1 });
        return partsOn(device);
      },
      serve: async (served) => new LocalPaper(served as ServedDevice<PaperParts>),
    }),
  sleep: () => ({
    waitQueue: new BoundedWaitQueue(2),
    rest: async () => ({ answers: { where: async () => 0 }, restore: async () => {} }),
  }),
});

/** Opens a fake model in the place that `place` names; `sleepAfter` as in the options of every model. */
async function open(
  place: 'in place' | 'behind a port',
  {
    devices = new PaperDevices(),
    signal,
    sleepAfter,
  }: { devices?: PaperDevices; signal?: AbortSignal; sleepAfter?: number } = {},
) {
  const notes: string[] = [];
  const onEvent = (event: OpenEvent): void => void (event.type === 'note' && notes.push(event.message));
  const openHere = (options: object, heard = onEvent, giveUp?: AbortSignal): Promise<Paper> =>
    openInline(PAPER, {} as Platform, { ...options, device: devices } as PaperOptions, heard, giveUp);
  const openOnce = (giveUp?: AbortSignal): Promise<Paper> => {
    if (place === 'in place') return openHere({ model: 'paper' }, onEvent, giveUp);
    const { near, far } = portPair();
    const host = new ModelHost<object, Paper>(far, { calls: PAPER.calls, open: openHere, release: () => {} });
    expect(host).toBeDefined();
    const onClosed = async (): Promise<void> => {};
    return openProxy<Paper>(near, PAPER.calls, {
      options: { model: 'paper' },
      onEvent,
      onClosed,
      signal: giveUp,
    });
  };
  const model = await openOnce(signal);
  const options = { model: 'paper', device: devices };
  const note = (message: string): void => void notes.push(message);
  const sleeping =
    sleepAfter === undefined
      ? model
      : letSleep(model, {
          after: sleepAfter,
          open: openOnce,
          note,
          calls: PAPER.calls,
          ...PAPER.sleep(model, options),
        });
  return { model: sleeping, devices, notes };
}

async function collect(events: AsyncGenerator<Event>, onEvent: (event: Event) => void = () => {}) {
  const found: Event[] = [];
  for await (const event of events) {
    found.push(event);
    onEvent(event);
  }
  return found;
}

const words = (found: Event[]): number[] => found.map(({ word }) => word);
const on = (found: Event[]): number[] => [...new Set(found.map(({ device }) => device))];

describe.each(['in place', 'behind a port'] as const)('a model %s', (place) => {
  it('opens, answers and closes; a method can be passed on without its model', async () => {
    const { model, devices } = await open(place);
    const { generate, where, close } = model;
    expect(words(await collect(generate({ words: 3 })))).toEqual([0, 1, 2]);
    expect([await where(), model.info, model.asleep]).toEqual([1, { name: 'paper' }, false]);
    await Promise.all([close(), close()]);
    expect(await model.ended).toMatchObject({ code: 'cancelled' });
    expect(devices.last.destroyed).toBe(1);
    await expect(collect(generate({ words: 1 }))).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('whose opening is aborted gives its device back', async () => {
    const devices = new PaperDevices();
    const controller = new AbortController();
    devices.onLoad = async () => {
      controller.abort();
      await new Promise((resolve) => setImmediate(resolve)); // the message takes a turn
    };
    await expect(open(place, { devices, signal: controller.signal })).rejects.toMatchObject({
      code: 'cancelled',
      message: 'opening the model was cancelled',
    });
    await expect.poll(() => devices.last.destroyed).toBe(1);
  });

  it('whose device is lost while it is loaded fails with device_lost', async () => {
    const devices = new PaperDevices();
    devices.onLoad = (device) => device.lose('unplugged');
    await expect(open(place, { devices })).rejects.toMatchObject({ code: 'device_lost' });
    expect(devices.last.destroyed).toBe(1);
  });

  it('whose device is lost while idle goes on with another', async () => {
    const { model, devices, notes } = await open(place);
    devices.last.lose('unplugged');
    expect(on(await collect(model.generate({ words: 2 })))).toEqual([2]);
    expect(notes).toEqual(['the GPU device was lost (unplugged); loading the model again']);
    await model.close();
    expect(devices.opened.map(({ destroyed }) => destroyed)).toEqual([1, 1]);
  });

  it('whose device is lost twice under a request goes on where it was', async () => {
    const { model, devices } = await open(place);
    const found = await collect(model.generate({ words: 9 }), ({ word, device }) => {
      if (word === 2 * device && device < 3) devices.last.lose();
    });
    expect(words(found)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(on(found)).toEqual([1, 2, 3]);
    await model.close();
  });

  it('whose device is not replaced ends its requests with device_lost, and tries again', async () => {
    const { model, devices } = await open(place);
    devices.onLoad = (device) => device.lose('unplugged as well');
    devices.last.lose('unplugged');
    const failure = await collect(model.generate({ words: 1 })).catch((error: EngineError) => error);
    expect(failure).toMatchObject({
      code: 'device_lost',
      message: 'the GPU device was lost (unplugged) and could not be opened again: restart the program',
    });
    devices.onLoad = () => {};
    expect(words(await collect(model.generate({ words: 2 })))).toEqual([0, 1]);
    await model.close();
  });

  it('sleeps, and is woken by a request; requests beyond its queue are refused', async () => {
    const { model, devices, notes } = await open(place, { sleepAfter: 20 });
    await vi.waitFor(() => expect(model.asleep).toBe(true));
    expect(await model.where()).toBe(0);
    await vi.waitFor(() => expect(devices.last.destroyed).toBe(1));
    const [one, two] = [collect(model.generate({ words: 1 })), collect(model.generate({ words: 1 }))];
    await expect(collect(model.generate({ words: 1 }))).rejects.toMatchObject({ code: 'overloaded' });
    expect([on(await one), on(await two), await model.where()]).toEqual([[2], [2], 2]);
    expect(notes[0]).toBe('closed after 0.02 s without a request; the next one opens it again');
    await model.close();
    expect(devices.opened.map(({ destroyed }) => destroyed)).toEqual([1, 1]);
  });

  it('fails a request with device_lost if its device is lost as it wakes, and the next one wakes it', async () => {
    const { model, devices } = await open(place, { sleepAfter: 20 });
    await vi.waitFor(() => expect(model.asleep).toBe(true));
    devices.onLoad = (device) => device.lose('unplugged');
    await expect(collect(model.generate({ words: 1 }))).rejects.toMatchObject({ code: 'device_lost' });
    expect(model.asleep).toBe(true);
    devices.onLoad = () => {};
    expect(on(await collect(model.generate({ words: 1 })))).toEqual([3]);
    await model.close();
  });

  it.each(['asleep', 'waking', 'lost', 'generating'])('is closed while %s', async (state) => {
    const { model, devices } = await open(place, { sleepAfter: state === 'lost' ? 10_000 : 20 });
    let waiting: Promise<unknown> = Promise.resolve();
    let loaded = (): void => {};
    if (state === 'asleep' || state === 'waking') await vi.waitFor(() => expect(model.asleep).toBe(true));
    if (state === 'waking') {
      devices.onLoad = () => new Promise((resolve) => (loaded = resolve));
      waiting = collect(model.generate({ words: 1 })).catch((error: EngineError) => error.code);
      await vi.waitFor(() => expect(devices.opened.length).toBe(2));
    }
    if (state === 'lost') devices.last.lose();
    if (state === 'generating') {
      const begun = new EventQueue<Event>();
      waiting = collect(model.generate({ words: 1e6 }), begun.push).catch((error: EngineError) => error.code);
      await begun.read().next();
    }
    const closing = Promise.all([model.close(), model.close()]);
    loaded();
    await closing;
    expect(['cancelled', undefined]).toContain(await waiting);
    expect(await model.ended).toMatchObject({ code: 'cancelled' });
    expect(devices.opened.map(({ destroyed }) => destroyed)).toEqual(devices.opened.map(() => 1));
  });
});
