// A model in its thread, on a fake device that can be lost at any moment.

import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../src/files/error.ts';
import type { OpenEvent } from '../../../src/engine/opening/open-event.ts';
import { openPaperSession, partsOn, type PaperDevice } from '../paper-session.ts';

const itself = <T>(session: T): T => session;

describe('opening a device session', () => {
  it('that fails gives back the device, and what was opened before it', async () => {
    const devices: PaperDevice[] = [];
    const log: string[] = [];
    const load = async (device: Parameters<typeof partsOn>[0]): Promise<never> => {
      devices.push(partsOn(device).paper);
      throw new EngineError('bad_checkpoint', 'tensor x is missing');
    };
    const opening = openPaperSession({ load }, itself);
    await expect(opening).rejects.toMatchObject({ code: 'bad_checkpoint' });
    expect([devices.length, devices[0]!.destroyed, log]).toEqual([1, 1, []]);
  });

  it('that fails after the device was loaded gives back all, the latest first', async () => {
    const log: string[] = [];
    let device: PaperDevice | undefined;
    const opening = openPaperSession({ unload: async () => void log.push('parts') }, (session, { defer }) => {
      device = session.parts.paper;
      session.defer(() => void log.push('storage'));
      defer(() => Promise.reject(new Error('hidden by the first error')));
      throw new Error('enough');
    });
    await expect(opening).rejects.toThrow('enough');
    expect([log, device!.destroyed]).toEqual([['storage', 'parts'], 1]);
  });

  it('that is given up ends at its next event, and at none once the model is open', async () => {
    const controller = new AbortController();
    const heard: OpenEvent[] = [];
    const events = { signal: controller.signal, onEvent: (event: OpenEvent) => void heard.push(event) };
    let device: PaperDevice | undefined;
    const given = openPaperSession(
      {
        ...events,
        async load(on, _, onEvent) {
          device = partsOn(on).paper;
          onEvent({ type: 'load', bytes: 1, totalBytes: 2 });
          controller.abort();
          onEvent({ type: 'load', bytes: 2, totalBytes: 2 });
          return partsOn(on);
        },
      },
      itself,
    );
    await expect(given).rejects.toMatchObject({
      code: 'cancelled',
      message: 'opening the model was cancelled',
    });
    expect([heard.length, device!.destroyed]).toEqual([1, 1]);

    const late = new AbortController();
    const { result: session } = await openPaperSession({ signal: late.signal }, itself);
    late.abort();
    session.parts.paper.lose();
    expect((await session.ready()).paper.nth).toBe(2);
  });

  it('if the device is lost meanwhile fails with device_lost', async () => {
    const opening = openPaperSession(
      {
        async load(device) {
          partsOn(device).paper.lose('unplugged');
          throw new Error('a mapping was aborted');
        },
      },
      itself,
    );
    await expect(opening).rejects.toMatchObject({
      code: 'device_lost',
      message: expect.stringContaining('(unplugged) while the model was loaded') as string,
    });
  });
});

describe('a lost device', () => {
  it('is replaced by the next request if it was idle, with a note', async () => {
    const notes: string[] = [];
    const onEvent = (event: OpenEvent): void => void (event.type === 'note' && notes.push(event.message));
    const { result: session, devices, log } = await openPaperSession({ onEvent }, itself);
    devices[0]!.lose('unplugged');
    const [one, two] = await Promise.all([session.ready(), session.ready()]);
    expect([one.paper.nth, two.paper.nth, session.restarts, session.state]).toEqual([2, 2, 1, 'ready']);
    expect(notes).toEqual(['the GPU device was lost (unplugged); loading the model again']);
    expect([log, devices[0]!.destroyed]).toEqual([['parts 1'], 1]);
  });

  it('under a request is known after the failure, and one that works is not replaced', async () => {
    const { result: session, devices } = await openPaperSession({}, itself);
    expect([await session.loss(), session.state]).toEqual([null, 'ready']);
    devices[0]!.lose('unplugged');
    expect([await session.loss(), session.state]).toEqual(['unplugged', 'lost']);
    expect((await session.ready()).paper.nth).toBe(2);
    expect(await session.loss()).toBeNull();
  });

  it('is replaced each time; its replacement gets what was there before', async () => {
    const before: (number | null)[] = [];
    const { result: session, devices } = await openPaperSession(
      {
        async load(device, parts) {
          before.push(parts?.paper.nth ?? null);
          return partsOn(device);
        },
      },
      itself,
    );
    for (const nth of [0, 1]) {
      devices[nth]!.lose();
      await session.ready();
    }
    expect([before, session.restarts]).toEqual([[null, 1, 2], 2]);
  });

  it('ends an opening that replaces it if it is lost again; the next request tries again', async () => {
    let breaks = false;
    const { result: session, devices } = await openPaperSession(
      {
        async load(device) {
          if (!breaks) return partsOn(device);
          partsOn(device).paper.lose('again');
          throw new Error('a mapping was aborted');
        },
      },
      itself,
    );
    devices[0]!.lose('unplugged');
    breaks = true;
    await expect(session.ready()).rejects.toMatchObject({
      code: 'device_lost',
      message: 'the GPU device was lost (unplugged) and could not be opened again: restart the program',
      cause: { code: 'device_lost' },
    });
    expect(session.state).toBe('lost');
    breaks = false;
    expect((await session.ready()).paper.nth).toBe(3);
    expect([session.restarts, devices.map(({ destroyed }) => destroyed)]).toEqual([1, [1, 1, 0]]);
  });

  it('is replaced at once if it is lost as it is loaded', async () => {
    let breaks = true;
    const { result: session } = await openPaperSession(
      {
        async load(device) {
          if (breaks) partsOn(device).paper.lose();
          breaks = false;
          return partsOn(device);
        },
      },
      itself,
    );
    expect((await session.ready()).paper.nth).toBe(2);
  });
});

describe('closing a device session', () => {
  it('frees what was opened, the latest first, even if some of it fails', async () => {
    const above: string[] = [];
    const {
      result: session,
      devices,
      log,
    } = await openPaperSession({}, (opened) => {
      opened.defer(() => void above.push('storage'));
      opened.defer(() => Promise.reject(new Error('the disk is gone')));
      return opened;
    });
    const closing = [session.close(), session.close()];
    for (const promise of closing) await expect(promise).rejects.toThrow('the disk is gone');
    expect([above, log, devices[0]!.destroyed]).toEqual([['storage'], ['parts 1', 'files'], 1]);
    expect(await session.ended).toMatchObject({ code: 'cancelled' });
    expect(() => session.assertOpen()).toThrow('the model is closed');
  });

  it('while a lost device is replaced ends the loading at its next event', async () => {
    let loading = false;
    let goOn = (): void => {};
    const {
      result: session,
      devices,
      log,
    } = await openPaperSession(
      {
        async load(device, before, onEvent) {
          if (before === null) return partsOn(device);
          loading = true;
          await new Promise<void>((resolve) => (goOn = resolve));
          onEvent({ type: 'load', bytes: 1, totalBytes: 2 });
          throw new Error('not reached');
        },
      },
      itself,
    );
    devices[0]!.lose();
    const waiting = session.ready();
    await expect.poll(() => loading).toBe(true);
    const closing = session.close();
    goOn();
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
    await closing;
    expect([log, devices.map(({ destroyed }) => destroyed)]).toEqual([
      ['parts 1', 'files'],
      [1, 1],
    ]);
  });
});
