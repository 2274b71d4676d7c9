// The threads of grammars and their memory, by counted work alone.

import { describe, expect, it } from 'vitest';
import { REPORT_STEPS } from '../../../../src/engine/text/threads/compile-turn.ts';
import { TURN_STEPS } from '../../../../src/engine/text/threads/grammar-jobs.ts';
import { MOST_HEAP, RUNNING, THREADS } from '../../../../src/engine/text/threads/grammar-threads.ts';
import { MILLION, simulation } from '../simulated-threads.ts';

describe('a thread is free for a new grammar', () => {
  const beside = async (count: number) => {
    const simulated = simulation();
    for (let i = 0; i < count; i++) simulated.add('long', 5000 + i);
    await simulated.tick(count * (TURN_STEPS / MILLION));
    return simulated;
  };

  it('beside more long ones than there are threads, at any time', async () => {
    const { add, tick, finished, threads } = await beside(10);
    for (let i = 0; i < 60; i++) {
      add(`small ${i}`, 1);
      await tick();
      expect(finished).toHaveLength(i + 1);
    }
    expect(threads).toHaveLength(THREADS);
  });

  it('again one tick after the first turn of another long one', async () => {
    const { add, tick, finished } = await beside(10);
    for (let i = 0; i < 10; i++) {
      add('another', 4000);
      await tick(TURN_STEPS / MILLION + 1);
      add('small', 1);
      await tick();
      expect(finished).toHaveLength(i + 1);
    }
  });

  it('if small ones take it, which set no other one back', async () => {
    const { add, tick, threads } = await beside(THREADS - 1);
    await tick(20);
    const long = threads.map(({ task }) => task).filter((task) => task !== null);
    expect(long).toHaveLength(THREADS - 1);
    for (let i = 0; i < 60; i++) {
      add('small', 2);
      await tick();
      expect(long.map(({ turn }) => turn![0])).toEqual(long.map(() => 0));
      await tick();
    }
  });

  it('if others were set back, which do not take it', async () => {
    const { threads, tick } = await beside(20);
    const begun = async () => {
      await tick();
      return threads.filter(({ task }) => task !== null).length;
    };
    for (let i = 0; i < 200; i++) expect(await begun()).toBeLessThan(THREADS);
  });
});

describe('the heaps of begun grammars', () => {
  const GROWTH = 20;
  const peakOf = async (growth: number, jobs: number[]) => {
    const { add, tick, threads, finished, total } = simulation(growth);
    for (const millions of jobs) add(`${millions}`, millions);
    let peak = 0;
    for (let i = 0; i < 4000 && finished.length < jobs.length; i++) {
      await tick();
      const held = threads.filter(({ task }) => task !== null).reduce((sum, { heap }) => sum + heap, 0);
      peak = Math.max(peak, held);
    }
    expect(finished).toHaveLength(jobs.length);
    return { peak, again: total() / jobs.reduce((a, b) => a + b) };
  };

  it('are bounded together, and each grammar is still complete in the end', async () => {
    const { peak, again } = await peakOf(GROWTH, [60, 61, 62, 63, 64, 65, 66, 67]);
    // Heaps are known from reports, between which the running ones grow.
    expect(peak).toBeLessThanOrEqual(MOST_HEAP + RUNNING * REPORT_STEPS * GROWTH);
    expect(peak).toBeGreaterThan(MOST_HEAP / 2);
    expect(again).toBeLessThan(3);
  });

  it('are assumed to be large where they cannot be measured', async () => {
    const { add, tick, threads } = simulation(null);
    for (let i = 0; i < THREADS - 1; i++) add('long', 300 + i);
    for (let i = 0; i < 100; i++) {
      await tick();
      if (i > 20) expect(threads.filter(({ task, ended }) => task && !ended).length).toBeLessThanOrEqual(4);
    }
  });

  it('are freed after a large one, and a small one leaves its thread as it is', async () => {
    const { add, tick, threads } = simulation(GROWTH);
    add('small', 5);
    await tick(5);
    add('small', 6);
    await tick(6);
    expect(threads.map(({ ended }) => ended)).toEqual([false, false]);
    add('large', 20);
    await tick(20);
    expect(threads.filter(({ ended }) => ended)).toHaveLength(1);
    expect(threads.filter(({ ended }) => !ended).map(({ done }) => done)).toContain(0);
  });
});
