// Turns of compilations, by counted work alone.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { GRACE } from '../../../../src/engine/platform/task-thread.ts';
import { REPORT_STEPS } from '../../../../src/engine/text/threads/compile-turn.ts';
import { TURN_STEPS } from '../../../../src/engine/text/threads/grammar-jobs.ts';
import { GUARD } from '../../../../src/engine/text/threads/grammar-scheduler.ts';
import { RUNNING, THREADS } from '../../../../src/engine/text/threads/grammar-threads.ts';
import { MILLION, simulation } from '../simulated-threads.ts';

afterEach(() => void vi.useRealTimers());

describe('grammars take turns', () => {
  it('and are complete in the order of their work, whatever came first, without losing any', async () => {
    const { add, tick, finished, total } = simulation();
    for (const millions of [60, 20, 40, 10]) add(`${millions}`, millions);
    await tick(80);
    expect(finished).toEqual(['10', '20', '40', '60']);
    expect(total()).toBe(130);
  });

  it('and a new one begins at once, in place of the running one with the most work', async () => {
    const { add, tick, finished, running } = simulation();
    add('first', 400);
    await tick(100);
    add('second', 300);
    await tick(50);
    expect(running().toSorted((a, b) => a - b)).toEqual([300, 400]);
    add('small', 3);
    expect(running().toSorted((a, b) => a - b)).toEqual([3, 300]);
    await tick(3);
    expect(finished).toEqual(['small']);
    expect(running().toSorted((a, b) => a - b)).toEqual([300, 400]);
  });

  it('a few at once, and one alone is never interrupted', async () => {
    const { add, tick, running, threads } = simulation();
    add('alone', 100);
    await tick(60);
    expect(threads[0]!.task!.turn![1]).toBe(2 ** 31 - 1);
    for (let i = 0; i < 3; i++) add('another', 90 + i);
    for (let i = 0; i < 40; i++) {
      expect(running()).toHaveLength(RUNNING);
      await tick();
    }
  });

  it('where more come than there are threads, which costs a bounded part of the work again', async () => {
    const { add, tick, finished, total, threads } = simulation();
    const jobs = Array.from({ length: 3 * THREADS }, (_, i) => 100 + i);
    for (const millions of jobs) add(`${millions}`, millions);
    await tick(10);
    add('small', 1);
    // All others have at most their first turn before it, and each of those costs two ticks more to change threads.
    await tick(jobs.length * (TURN_STEPS / MILLION / RUNNING + 2));
    expect(finished).toEqual(['small']);
    await tick(3000);
    expect(finished).toHaveLength(jobs.length + 1);
    const sum = jobs.reduce((a, b) => a + b, 4);
    expect(total()).toBeLessThan(3 * sum);
    expect(threads).toHaveLength(THREADS);
  });

  it('by client, so that many grammars of one take no more than one of another', async () => {
    const { add, tick, finished } = simulation();
    for (let i = 0; i < 10; i++) add(`many ${i}`, 40, 'many');
    await tick(4);
    add('single', 40, 'single');
    await tick(60);
    expect(finished[0]).toBe('single');
  });

  it('and one that nobody waits for makes room at once', async () => {
    const { add, tick, running } = simulation();
    const jobs = [200, 201, 202].map((millions) => add('', millions));
    await tick(3);
    jobs[0]!.leave();
    expect(await jobs[0]!.answer).toBe('cancelled');
    await tick(2);
    expect(running().toSorted((a, b) => a - b)).toEqual([201, 202]);
  });
});

describe('a thread of grammars', () => {
  it('that runs out of memory is replaced at once, and its grammar refused', async () => {
    const { add, tick, threads, finished } = simulation();
    const large = add('large', 100);
    await tick(3);
    const started = threads.length;
    const { EngineError } = await import('../../../../src/files/error.ts');
    threads[0]!.lose(new EngineError('out_of_memory', 'no memory'));
    expect(threads).toHaveLength(started + 1);
    expect(await large.answer).toBe('bad_request');
    add('small', 1);
    await tick(1);
    expect(finished).toEqual(['small']);
    expect(threads).toHaveLength(started + 1);
  });

  it('is started before it is needed, once a grammar takes long', async () => {
    const { add, tick, threads } = simulation();
    add('long', 100);
    expect(threads).toHaveLength(1);
    await tick(REPORT_STEPS / MILLION);
    expect(threads).toHaveLength(2);
  });
});

describe('a busy machine', () => {
  it('is told apart from a grammar that is too large', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { add, tick, threads, finished } = simulation();
    const late = add('late', 100);
    await tick(1);
    await vi.advanceTimersByTimeAsync(GUARD);
    expect(await late.answer).toBe('timed_out');
    // Its thread answers nothing: it is ended, and another is there at once.
    await vi.advanceTimersByTimeAsync(GRACE);
    expect(threads.map(({ ended }) => ended)).toEqual([true, false]);
    const again = add('again', 2);
    await tick(2);
    expect([await again.answer, finished]).toEqual([undefined, ['again']]);
  });

  it('does not change what the compiler itself refuses', async () => {
    const { add, tick, threads } = simulation();
    const bad = add('bad', 100);
    for (let i = 0; i < 4; i++) add('other', 90);
    await tick(1);
    threads[0]!.fail('bad_request', 'constraint.pattern');
    expect(await bad.answer).toBe('bad_request');
  });
});
