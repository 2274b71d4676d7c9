// Threads that are simulated, with the scheduler of grammars above them: each tick every thread with a turn does as many steps.

import { setImmediate } from 'node:timers/promises';
import type { EngineError } from '../../../src/files/error.ts';
import type { Port } from '../../../src/engine/platform/port.ts';
import { REPORT_STEPS } from '../../../src/engine/text/threads/compile-turn.ts';
import { GrammarScheduler } from '../../../src/engine/text/threads/grammar-scheduler.ts';
import { GRAMMAR_MEMORY } from '../../../src/engine/text/threads/grammar-threads.ts';
import type { CompileTask } from '../../../src/engine/text/threads/text-tasks.ts';

export const MILLION = 1_000_000;
const codeOf = ({ code }: EngineError): string => code;

/** A thread whose grammars say how many millions of steps they need. */
class SimulatedThread implements Port {
  ended = false;
  done = 0;
  /** Steps of all its tasks. */
  total = 0;
  task: CompileTask | null = null;
  /** Bytes of heap per step; null: not measured. */
  readonly #growth: number | null;
  #receive: (message: unknown) => void = () => {};
  #lose: (error: Error) => void = () => {};

  constructor(growth: number | null) {
    this.#growth = growth;
  }

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
  /** Bytes, up to the limit of a thread. */
  get heap(): number {
    return this.ended ? 0 : Math.min(this.done * (this.#growth ?? 0), GRAMMAR_MEMORY * 2 ** 20);
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
    if (this.done % REPORT_STEPS === 0 || !this.isRunning) this.#report();
  }
  #report(): void {
    this.#receive({ report: { steps: this.done, heap: this.#growth === null ? null : this.heap } });
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

/** `growth`: bytes of heap per step; null: heaps are not measured. */
export function simulation(growth: number | null = 0) {
  const threads: SimulatedThread[] = [];
  const scheduler = new GrammarScheduler(() => {
    threads.push(new SimulatedThread(growth));
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
