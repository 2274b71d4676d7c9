// Compiles grammars in other threads, in stages of increasing time limits: a grammar that does not compile within one stage moves
// on to the next. So a small grammar waits only for short turns of other grammars, never for a long one.

import { EngineError, type ErrorCode } from '../../files/error.ts';
import type { CompiledGrammar } from '../../grammar/compiled-grammar.ts';
import { MOST_MILLISECONDS } from '../../grammar/dfa.ts';
import type { Port } from '../session/port.ts';
import { TaskThreads } from '../task-threads.ts';
import type { GrammarSource } from './grammar-source.ts';
import { FIRST_GRAMMAR_TIME, type TextTask } from './text-tasks.ts';

export interface Stage {
  /** Time limit of a grammar. */
  milliseconds: number;
  /** Grammars that compile at once. */
  threads: number;
  /** Heap limit of a thread in MiB. */
  memory: number;
  /** Milliseconds without a task after which a thread ends; left out: it stays. */
  idle?: number;
}

/** The earlier stages take a fraction of the time of the last one. */
export const STAGES: readonly Stage[] = [
  { milliseconds: 200, threads: 2, memory: 128 },
  { milliseconds: 500, threads: 1, memory: 256, idle: 5000 },
  { milliseconds: MOST_MILLISECONDS, threads: 1, memory: 512, idle: 5000 },
];

/** Error codes with which a grammar moves on to a stage with more time and memory. */
const LIMITED: readonly ErrorCode[] = ['timed_out', 'out_of_memory'];

export class GrammarStages {
  readonly #stages: { milliseconds: number; pool: TaskThreads }[];

  /** `connect` starts a thread with a heap limit in MiB. */
  constructor(connect: (memory: number) => Port) {
    this.#stages = STAGES.map((stage) => ({
      milliseconds: stage.milliseconds,
      pool: new TaskThreads(() => connect(stage.memory), stage),
    }));
  }

  /** Throws EngineErrors: bad_request, timed_out, and cancelled where `signal` aborts. */
  async compile(source: GrammarSource, available: Uint8Array, signal: AbortSignal): Promise<CompiledGrammar> {
    const flag = sharedFlag();
    const stop = flag === null ? {} : { stop: () => void Atomics.store(flag, 0, 1) };
    for (const { milliseconds, pool } of this.#stages) {
      const task: TextTask = { kind: 'compile', source, available, milliseconds, stop: flag };
      const first = Math.max(milliseconds, FIRST_GRAMMAR_TIME);
      try {
        return (await pool.run(task, { milliseconds, first, signal, ...stop })) as CompiledGrammar;
      } catch (error) {
        const isLimited = error instanceof EngineError && LIMITED.includes(error.code);
        if (!isLimited || milliseconds === STAGES.at(-1)!.milliseconds) throw refusal(error);
      }
    }
    throw new Error('there is no stage');
  }
}

/** Returns null in a page without cross-origin isolation, where memory cannot be shared: an aborted compilation then ends its thread. */
function sharedFlag(): Int32Array | null {
  return typeof SharedArrayBuffer === 'undefined' ? null : new Int32Array(new SharedArrayBuffer(4));
}

/** The error of a grammar whose thread was ended. Errors of the compiler itself name a parameter and stay unchanged. */
function refusal(error: unknown): unknown {
  if (!(error instanceof EngineError) || error.param !== null) return error;
  const { milliseconds, memory } = STAGES.at(-1)!;
  const most = { timed_out: `${milliseconds / 1000} s`, out_of_memory: `${memory} MiB` }[
    error.code as string
  ];
  if (most === undefined) return error;
  const code = error.code === 'timed_out' ? 'timed_out' : 'bad_request';
  const message = `the grammar takes more than ${most} to compile: make it smaller`;
  return new EngineError(code, message, { param: 'constraint', cause: error });
}
