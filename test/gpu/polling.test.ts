import { beforeAll, expect, it } from 'vitest';
import { throttlePolling } from '../../src/gpu/polling.ts';

beforeAll(() => {
  throttlePolling();
  throttlePolling();
});

/** Queues itself again until `calls` are done, as the GPU binding does while a promise is pending. */
function poll(calls: number): Promise<number> {
  const started = performance.now();
  return new Promise((resolve) => {
    const again = (left: number): void => {
      if (left === 0) resolve(performance.now() - started);
      else setImmediate(again, left - 1);
    };
    again(calls);
  });
}

it('hands on arguments, in order', async () => {
  const seen: number[] = [];
  await new Promise<void>((resolve) => {
    for (let i = 0; i < 50; i++) setImmediate((value: number) => seen.push(value), i);
    setTimeout(resolve, 50);
  });
  expect([...seen].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
  expect(seen.slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, i) => i));
});

it('lets a short wait through at full speed and slows a long one to a call a millisecond', async () => {
  await new Promise((resolve) => setTimeout(resolve, 20));
  const cpu = process.cpuUsage();
  const long = await poll(300);
  const { user, system } = process.cpuUsage(cpu);
  expect(long).toBeGreaterThan(250);
  expect((user + system) / 1000).toBeLessThan(long / 2);
});
