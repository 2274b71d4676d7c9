// The lock by which a worker's starter learns that the worker has ended.

import { afterEach, expect, test, vi } from 'vitest';
import { announceLife, isLife, untilDeath } from '../../../src/host/page/worker-life.ts';
import { MemoryLocks } from '../../files/opfs/memory-locks.ts';

afterEach(() => vi.unstubAllGlobals());

function announced(locks: unknown): unknown[] {
  const messages: unknown[] = [];
  vi.stubGlobal('navigator', { locks });
  announceLife({ postMessage: (message) => messages.push(message) });
  return messages;
}

test('the starter waits as long as the worker lives', async () => {
  const [locks, worker] = [new MemoryLocks(), {}];
  const messages = announced(locks.of(worker));
  await expect.poll(() => messages.length).toBe(1);
  const [life] = messages;
  expect([isLife(life), isLife(null), isLife('ready'), isLife({ type: 'opened' })]).toEqual([
    true,
    false,
    false,
    false,
  ]);
  vi.stubGlobal('navigator', { locks: locks.of({}) });
  const dead = vi.fn();
  const waiting = untilDeath(life as Parameters<typeof untilDeath>[0]).then(dead);
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(dead).not.toHaveBeenCalled();
  locks.end(worker);
  await waiting;
});

test('a worker without locks works, and announces no lock', async () => {
  const refused = {
    request: vi.fn(async () => Promise.reject(new DOMException('sandboxed', 'SecurityError'))),
  };
  expect(announced(refused)).toEqual([]);
  expect(refused.request).toHaveBeenCalledOnce();
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(announced(undefined)).toEqual([]);
});
