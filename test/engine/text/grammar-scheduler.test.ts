// Turns of compilations, by counted work alone: threads are simulated, and each tick every thread with a turn does as many steps.

import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { EngineError } from '../../../src/files/error.ts';
import type { Port } from '../../../src/engine/session/port.ts';
import { GRACE } from '../../../src/engine/task-thread.ts';
import { REPORT_STEPS } from '../../../src/engine/text/compile-turn.ts';
import { TURN_STEPS } from '../../../src/engine/text/grammar-jobs.ts';
import { GrammarScheduler, GUARD, RUNNING, THREADS } from '../../../src/engine/text/grammar-scheduler.ts';
import type { CompileTask } from '../../../src/engine/text/text-tasks.ts';

const MILLION = 1_000_000;
const codeOf = ({ code }: EngineError): string => code;
afterEach(() => void vi.useRealTimers());

/** A thread whose grammars say how many millions of steps they need. */
class SimulatedThread implements Port {
  ended = false;
  done = 0;
  /** Steps of all its tasks. */
  total = 0;
  task: CompileTask | null = null;
  #receive: (message: unknown) => void = () => {};
  #lose: (error: Error) => void = () => {};

  post(message: unknown): void {
    this.task = message as CompileTask;
    this.done = 0;
  }
  onMessage(listener: (message: unknown) => void): void {
    this.#receive = listener;
    queueMicrotask(() => listener('ready'));
  }
  onLost(listener: (error: Error) => void): void {
    this.#lose = listener;
  }
  end(): void {
    this.ended = true;
  }
  get needs(): number {
    return this.task?.source.type === 'regex' ? Number(this.task.source.pattern) * MILLION : 0;
  }
  /** Whether it has a task and a turn, as in takeTurns, which would block this thread. */
  get isRunning(): boolean {
    if (this.ended || this.task === null) return false;
    const [stopped, granted] = this.task.turn!;
    return stopped === 1 || this.done < granted! * 100_000;
  }
  tick(): void {
    if (!this.isRunning) return;
    if (this.task!.turn![0] === 1) return this.#answer(null, 'cancelled');
    this.done += MILLION;
    this.total += MILLION;
    if (this.done >= this.needs) return this.#answer(this.needs / MILLION);
    if (this.done % REPORT_STEPS === 0 || !this.isRunning) this.#receive({ report: this.done });
  }
  fail(code: string, param: string | null): void {
    this.#answer(null, code, param);
  }
  lose(error: Error): void {
    this.ended = true;
    this.#lose(error);
  }
  #answer(result: unknown, code?: string, param: string | null = null): void {
    this.task = null;
    this.#receive({ result, error: code === undefined ? null : { code, message: code, param } });
  }
}

function simulation() {
  const threads: SimulatedThread[] = [];
  const scheduler = new GrammarScheduler(() => {
    threads.push(new SimulatedThread());
    return threads.at(-1)!;
  });
  const finished: string[] = [];
  const add = (name: string, millions: number, client: string | null = null) => {
    const leaving = new AbortController();
    const source = { type: 'regex' as const, pattern: `${millions}` };
    const answer = scheduler
      .compile(source, new Uint8Array(256), { signal: leaving.signal, client })
      .then(() => void finished.push(name), codeOf);
    return { answer, leave: () => leaving.abort() };
  };
  const tick = async (count = 1): Promise<void> => {
    for (let i = 0; i < count; i++) {
      for (const thread of threads) thread.tick();
      await Promise.resolve().then(() => setImmediate());
    }
  };
  const total = (): number => threads.reduce((sum, thread) => sum + thread.total, 0) / MILLION;
  const running = (): number[] =>
    threads.filter(({ isRunning }) => isRunning).map(({ needs }) => needs / MILLION);
  return { threads, add, tick, finished, total, running };
}

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

describe('a thread', () => {
  it('that runs out of memory is replaced at once, and its grammar refused', async () => {
    const { add, tick, threads, finished } = simulation();
    const large = add('large', 100);
    await tick(3);
    const started = threads.length;
    const { EngineError } = await import('../../../src/files/error.ts');
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
