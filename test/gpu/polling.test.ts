import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { beforeAll, expect, it } from 'vitest';
import { throttlePolling, untilSettled } from '../../src/gpu/polling.ts';
import { nodeArgs } from '../started.ts';

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

it('setImmediate() passes arguments in order while the binding polls', async () => {
  const seen: number[] = [];
  await new Promise<void>((resolve) => {
    for (let i = 0; i < 50; i++) setImmediate((value: number) => seen.push(value), i);
    setTimeout(resolve, 50);
  });
  expect([...seen].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
  expect(seen.slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, i) => i));
});

it('polling lets a short wait through at full speed and slows a long one to a call a millisecond', async () => {
  await new Promise((resolve) => setTimeout(resolve, 20));
  const cpu = process.cpuUsage();
  const long = await poll(300);
  const { user, system } = process.cpuUsage(cpu);
  expect(long).toBeGreaterThan(250);
  expect((user + system) / 1000).toBeLessThan(long / 2);
});

it('untilSettled() waits for the last call, or as long as the caller allows', async () => {
  let isDone = false;
  void poll(100).then(() => (isDone = true));
  await untilSettled(60_000);
  expect(isDone).toBe(true);
  let isEnded = false;
  const forever = (): void => void (isEnded || setImmediate(forever));
  forever();
  await untilSettled(5);
  isEnded = true;
  await untilSettled(60_000);
});

it('untilSettled() waits for the promises of the binding, before which an exit aborts the process', async () => {
  const script = new URL('leave-pending.ts', import.meta.url);
  const child = spawn(process.execPath, nodeArgs(script, 'wait'), { stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (bytes) => (errors += String(bytes)));
  expect(await once(child, 'close'), errors).toEqual([7, null]);
}, 60_000);
