// Models that sleep while idle: a fake one and the shipped one.

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { BoundedWaitQueue } from '../../../src/engine/async/wait-queue.ts';
import type { Model } from '../../../src/host/session/model.ts';
import { withResolvers } from '../../../src/engine/async/resolvers.ts';
import { letSleep, type SleepOptions } from '../../../src/host/session/sleeping-model.ts';

interface Paper extends Model<{ nth: number }, { text: string; wait?: number }, string> {
  count(): Promise<number>;
  shout(text: string): Promise<string>;
  crash(): void;
}

/** A fake model that is opened for the nth time. */
function paper(nth: number, log: string[]): Paper {
  const ended = withResolvers<Error>();
  let closed = false;
  const close = async (): Promise<void> => {
    await sleep(5);
    closed = true;
    log.push(`closed ${nth}`);
    ended.resolve(new Error('closed'));
  };
  return {
    info: { nth },
    ended: ended.promise,
    asleep: false,
    async *generate({ text, wait = 0 }, { signal } = {}) {
      for (const letter of text) {
        if (closed) throw new Error('asked after its end');
        signal?.throwIfAborted();
        await sleep(wait);
        yield letter;
      }
    },
    count: async () => 10 * nth,
    shout: async (text) => `${text.toUpperCase()} ${nth}`,
    crash: () => ended.resolve(new Error('crashed')),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function start(more: Partial<SleepOptions<Paper>> = {}) {
  const log: string[] = [];
  const made = [paper(1, log)];
  const open = vi.fn(async () => {
    await sleep(5);
    const model = paper(made.length + 1, log);
    made.push(model);
    log.push(`opened ${made.length}`);
    return model;
  });
  const model = letSleep(made[0]!, {
    after: 30,
    open,
    calls: { count: { passive: true }, shout: {}, crash: {} },
    waitQueue: new BoundedWaitQueue(Infinity),
    rest: async (resting) => {
      const last = await resting.count();
      return {
        answers: { count: async () => last + 1 },
        restore: async (again) => void log.push(await again.shout('restored')),
      };
    },
    ...more,
  });
  return { model, made, log, open };
}

async function all(events: AsyncGenerator<string, void, void>): Promise<string> {
  let text = '';
  for await (const each of events) text += each;
  return text;
}

const asleep = (model: Paper): Promise<void> => vi.waitFor(() => expect(model.asleep).toBe(true));

describe('an idle model', () => {
  it('sleeps, reports its last info, and is opened again by the next request', async () => {
    const { model, log, open } = start();
    expect([model.asleep, model.info.nth, await model.count()]).toEqual([false, 1, 10]);
    await asleep(model);
    expect(await model.count()).toBe(11);
    expect(open).not.toHaveBeenCalled();
    expect(await all(model.generate({ text: 'abc' }))).toBe('abc');
    expect(log).toEqual(['closed 1', 'opened 2', 'RESTORED 2']);
    expect([model.asleep, model.info.nth, await model.count()]).toEqual([false, 2, 20]);
    await model.close();
  });

  it('is opened once for all requests that wait', async () => {
    const { model, open } = start();
    await asleep(model);
    const said = await Promise.all([
      all(model.generate({ text: 'a' })),
      all(model.generate({ text: 'b' })),
      model.shout('c'),
    ]);
    expect(said).toEqual(['a', 'b', 'C 2']);
    expect(open).toHaveBeenCalledTimes(1);
    await model.close();
  });

  it('does not sleep while it is at work, however long', async () => {
    const { model, open } = start();
    expect(await all(model.generate({ text: 'abcdef', wait: 20 }))).toBe('abcdef');
    expect(model.asleep).toBe(false);
    expect(open).not.toHaveBeenCalled();
    await model.close();
  });

  it('is not kept awake by reading its info', async () => {
    const { model } = start();
    const looking = setInterval(() => void model.count(), 5);
    await asleep(model);
    clearInterval(looking);
    await model.close();
  });

  it('answers a request that comes just as it falls asleep', async () => {
    const asked: Promise<string>[] = [];
    const { model } = start({
      rest: async () => {
        asked.push(model.shout('now'));
        await sleep(5);
        return { answers: {}, restore: async () => {} };
      },
    });
    await vi.waitFor(() => expect(asked.length).toBeGreaterThan(0));
    expect(await asked[0]).toBe('NOW 1');
    await model.close();
  });

  it('does not delay a request that leaves while it is opened, and sleeps again', async () => {
    const log: string[] = [];
    const { promise: opened, resolve } = withResolvers<void>();
    const open = vi.fn(() => opened.then(() => paper(2, log)));
    const { model } = start({ open });
    await asleep(model);
    const cancelled = { code: 'cancelled', message: 'the request was cancelled before it began' };
    const gone = AbortSignal.abort();
    await expect(all(model.generate({ text: 'a' }, { signal: gone }))).rejects.toMatchObject(cancelled);
    expect(open).not.toHaveBeenCalled();
    const leaving = new AbortController();
    const left = all(model.generate({ text: 'a' }, { signal: leaving.signal }));
    await vi.waitFor(() => expect(open).toHaveBeenCalled());
    leaving.abort();
    await expect(left).rejects.toMatchObject(cancelled);
    await sleep(50);
    resolve();
    await vi.waitFor(() => expect(log).toEqual(['closed 2']));
    expect(model.asleep).toBe(true);
    await model.close();
  });

  it('lets no more wait than its queue has room for', async () => {
    const { model } = start({ waitQueue: new BoundedWaitQueue(2) });
    await asleep(model);
    const waiting = ['a', 'b'].map((text) => all(model.generate({ text })));
    await expect(all(model.generate({ text: 'c' }))).rejects.toMatchObject({ code: 'overloaded' });
    expect(await Promise.all(waiting)).toEqual(['a', 'b']);
    expect(await all(model.generate({ text: 'c' }))).toBe('c');
    await model.close();
  });

  it('reports why it cannot be opened, and is tried again', async () => {
    const log: string[] = [];
    let fails = true;
    const { model } = start({
      open: async () => {
        if (fails) throw new Error('no memory');
        return paper(9, log);
      },
    });
    await asleep(model);
    await expect(model.shout('a')).rejects.toThrow('no memory');
    fails = false;
    expect(await model.shout('a')).toBe('A 9');
    await model.close();
  });
});

it('a model whose state cannot be restored is closed again', async () => {
  const restore = vi.fn().mockRejectedValueOnce(new Error('no file')).mockResolvedValue(undefined);
  const { model, log } = start({ rest: async () => ({ answers: {}, restore }) });
  await asleep(model);
  await expect(model.shout('a')).rejects.toThrow('no file');
  expect(log).toEqual(['closed 1', 'opened 2', 'closed 2']);
  expect(await model.shout('a')).toBe('A 3');
  await model.close();
});

describe('the end of a sleeping model', () => {
  it('is reported where it crashed, not where it sleeps', async () => {
    const { model, made } = start();
    const ended = vi.fn();
    void model.ended.then(ended);
    await asleep(model);
    await model.shout('a');
    expect(ended).not.toHaveBeenCalled();
    made[1]!.crash();
    expect((await model.ended).message).toBe('crashed');
    await model.close();
  });

  it('comes with closing, asleep, awake or waking', async () => {
    for (const state of ['awake', 'asleep', 'waking']) {
      const { model, log, open } = start();
      if (state !== 'awake') await asleep(model);
      const waking = state === 'waking' ? model.shout('a').catch(() => 'gone') : null;
      if (waking) await vi.waitFor(() => expect(open).toHaveBeenCalled());
      await Promise.all([model.close(), model.close()]);
      await model.ended;
      await waking;
      await expect(model.shout('a')).rejects.toMatchObject({ code: 'cancelled' });
      await expect(model.count()).rejects.toMatchObject({ code: 'cancelled' });
      await expect(all(model.generate({ text: 'a' }))).rejects.toMatchObject({ code: 'cancelled' });
      expect(log.filter((line) => line.startsWith('closed')).length).toBe(state === 'waking' ? 2 : 1);
    }
  });
});
