// The states of a session, with a resource of paper.

import { describe, expect, it, vi } from 'vitest';
import { withResolvers } from '../../../src/engine/async/resolvers.ts';
import { Session } from '../../../src/host/session/session.ts';

interface Paper {
  nth: number;
  /** The resource that it replaced. */
  before: number | null;
  ended: ReturnType<typeof withResolvers<Error>>;
}

/** Returns a session that opens `Paper` resources; with `hold`, openings wait until `opened` is called. */
function start({ hold = false, failClose = false } = {}) {
  const log: string[] = [];
  const made: Paper[] = [];
  const gates: (() => void)[] = [];
  let failure: Error | null = null;
  const session = new Session<Paper>({
    async open(signal, before) {
      log.push(`open after ${before?.nth ?? 'nothing'}`);
      if (hold) await new Promise<void>((resolve) => gates.push(resolve));
      if (failure) throw failure;
      if (signal.aborted) log.push('aborted');
      made.push({ nth: made.length + 1, before: before?.nth ?? null, ended: withResolvers<Error>() });
      return made.at(-1)!;
    },
    async close({ nth }) {
      log.push(`close ${nth}`);
      if (failClose) throw new Error('the disk is gone');
    },
    ended: ({ ended }) => ended.promise,
  });
  const opened = (): void => gates.splice(0).forEach((open) => open());
  const fail = (error: Error | null): void => void (failure = error);
  return { session, log, made, opened, fail };
}

const CLOSED = { code: 'cancelled', message: 'the model is closed: open it again' };

describe('opening a session', () => {
  it('happens once for all callers, at first and again', async () => {
    const { session, log } = start();
    expect(session.state).toBe('opening');
    const [one, two] = await Promise.all([session.ready(), session.ready()]);
    expect(one).toBe(two);
    expect(session.state).toBe('ready');
    session.lose();
    await Promise.all([session.ready(), session.ready()]);
    expect(log).toEqual(['open after nothing', 'close 1', 'open after 1']);
    expect(session.latest.nth).toBe(2);
  });

  it('that fails at first closes the session', async () => {
    const { session, fail } = start();
    fail(new Error('no memory'));
    await expect(session.ready()).rejects.toThrow('no memory');
    expect(session.state).toBe('closed');
    await expect(session.ready()).rejects.toMatchObject(CLOSED);
    expect(() => session.latest).toThrow('nothing was opened');
  });

  it.each(['lost', 'asleep'] as const)(
    'that fails again leaves it %s, to be tried once more',
    async (state) => {
      const { session, fail, log } = start();
      await session.ready();
      if (state === 'lost') session.lose();
      else session.sleep();
      fail(new Error('no memory'));
      await expect(session.ready()).rejects.toThrow('no memory');
      expect(session.state).toBe(state);
      fail(null);
      expect((await session.ready()).nth).toBe(2);
      expect(log.filter((line) => line.startsWith('close'))).toEqual(['close 1']);
    },
  );
});

it('a lost resource is kept until it is replaced, one that sleeps is freed at once', async () => {
  const { session, log } = start();
  await session.ready();
  session.lose();
  expect([session.state, log.includes('close 1')]).toEqual(['lost', false]);
  session.sleep(); // a lost one cannot sleep
  expect(session.state).toBe('lost');
  await session.ready();
  session.sleep();
  expect([session.state, log.includes('close 2')]).toEqual(['asleep', true]);
  session.lose();
  expect(session.state).toBe('asleep');
});

it('an error of freeing a resource that sleeps or is lost is dropped', async () => {
  const { session } = start({ failClose: true });
  await session.ready();
  session.sleep();
  await session.ready();
  session.lose();
  expect((await session.ready()).nth).toBe(3);
  await expect(session.close()).rejects.toThrow('the disk is gone');
  expect(await session.ended).toMatchObject(CLOSED);
});

describe('closing a session', () => {
  it.each([
    ['ready', ['close 1']],
    ['lost', ['close 1']],
    ['asleep', ['close 1']],
  ] as const)('frees all once: %s', async (state, given) => {
    const { session, log } = start();
    await session.ready();
    if (state === 'lost') session.lose();
    if (state === 'asleep') session.sleep();
    await Promise.all([session.close(), session.close()]);
    expect(log.slice(1)).toEqual(given);
    expect(session.state).toBe('closed');
    expect(await session.ended).toMatchObject(CLOSED);
    await expect(session.ready()).rejects.toMatchObject(CLOSED);
    expect(() => session.assertOpen()).toThrow(CLOSED.message);
  });

  it('as an opening begins prevents it', async () => {
    const { session, log } = start();
    await session.ready();
    session.lose();
    const waiting = session.ready();
    const closing = session.close();
    await expect(waiting).rejects.toMatchObject(CLOSED);
    await closing;
    expect(log.slice(1)).toEqual(['close 1']);
  });

  it('before anything was opened prevents opening', async () => {
    const { session, log } = start();
    await session.close();
    expect(log).toEqual([]);
  });

  it('during an opening ends that, at first or again, and frees its resource', async () => {
    for (const again of [false, true]) {
      const { session, log, opened } = start({ hold: true });
      let waiting = session.ready();
      await vi.waitFor(() => expect(log).toContain('open after nothing'));
      if (again) {
        opened();
        await waiting;
        session.lose();
        waiting = session.ready();
        await vi.waitFor(() => expect(log).toContain('open after 1'));
      }
      const closing = session.close();
      opened();
      await expect(waiting).rejects.toMatchObject(CLOSED);
      await closing;
      expect(log.slice(-2)).toEqual(['aborted', again ? 'close 2' : 'close 1']);
    }
  });

  it('ends what uses the resource first', async () => {
    const { session, log } = start();
    await session.ready();
    await session.close(async () => {
      log.push('requests end');
      await session.release();
    });
    expect(log.slice(1)).toEqual(['requests end', 'close 1']);
  });
});

it('a resource that ends by itself closes the session with its reason; one that was replaced does not', async () => {
  const { session, made, log } = start();
  await session.ready();
  session.sleep();
  made[0]!.ended.resolve(new Error('closed'));
  await session.ready();
  const crash = new Error('crashed');
  made[1]!.ended.resolve(crash);
  expect(await session.ended).toBe(crash);
  expect(session.state).toBe('closed');
  await expect(session.ready()).rejects.toBe(crash);
  await session.close();
  expect(log.at(-1)).toBe('close 2');
});
