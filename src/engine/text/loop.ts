// The engine's clock. While there is work: plan a step, submit it, and take in the tokens of the step before, which the
// device computed meanwhile. At most two steps are on their way; a token that a stop makes superfluous is dropped.

import { EngineError } from '../../files/error.ts';
import { NOT_A_TOKEN } from '../../kernels/sample.ts';
import type { Runner } from './runner.ts';
import type { Part, Scheduler } from './scheduler.ts';
import { acceptToken, finish, type Sequence } from './sequence.ts';

export interface LoopCounters {
  steps: number;
  sharedSteps: number;
  promptTokens: number;
  generatedTokens: number;
  deviceRestarts: number;
}

export interface Loop {
  readonly counters: Readonly<LoopCounters>;
  /** There is something new to do. */
  wake(): void;
  /** Ends sequences now; their slots and pages are free at once. `error`: why, where it is not the caller's wish. */
  abort(sequences: readonly Sequence[], error?: EngineError): void;
  /** Ends everything and stops. */
  close(): Promise<void>;
}

export interface LoopOptions {
  scheduler: Scheduler;
  runner: Runner;
  /** A new runner after the device was lost. */
  restart(reason: string): Promise<Runner>;
}

interface Step {
  parts: Part[];
  ids: Promise<Uint32Array>;
}

const DEPTH = 2;

export function createLoop({ scheduler, runner: first, restart }: LoopOptions): Loop {
  const counters: LoopCounters = {
    steps: 0,
    sharedSteps: 0,
    promptTokens: 0,
    generatedTokens: 0,
    deviceRestarts: 0,
  };
  let runner = first;
  let running: Promise<void> | null = null;
  let closed = false;

  const submit = (parts: Part[]): Step => {
    counters.steps++;
    if (parts.length > 1) counters.sharedSteps++;
    for (const { sequence, processed, first: from } of parts) {
      if (processed === null || sequence.leader) continue;
      counters.promptTokens += processed - from;
      const cached = sequence.prefix.found!;
      const { promptTokens } = sequence;
      const cachedTokens = cached.device + cached.host + cached.storage;
      sequence.emit({ type: 'prefill', processed, promptTokens, cachedTokens, cached });
    }
    const ids = runner.launch(parts);
    ids.catch(() => {}); // read when its turn comes
    return { parts, ids };
  };

  const takeIn = async (step: Step): Promise<void> => {
    const ids = await step.ids;
    let i = 0;
    for (const { sequence, samples } of step.parts) {
      if (!samples) continue;
      const id = ids[i++]!;
      sequence.inFlight--;
      if (sequence.finished) continue;
      if (id === NOT_A_TOKEN) {
        finish(sequence, 'abort', null, notNumbers());
        runner.pageCleaner.clear(scheduler.discard(sequence));
        continue;
      }
      counters.generatedTokens++;
      acceptToken(sequence, id);
    }
    scheduler.sweep();
  };

  const run = async (): Promise<void> => {
    const submitted: Step[] = [];
    for (;;) {
      const parts = submitted.length < DEPTH ? scheduler.plan() : [];
      const moves = scheduler.takeMoves();
      try {
        runner.pageCleaner.ahead(scheduler.pages.pool.touched);
        if (moves) runner.movePages(moves);
        if (parts.length > 0) submitted.push(submit(parts));
        if (submitted.length === 0 && moves) continue;
        if (submitted.length === 0) return;
        if (submitted.length === DEPTH || parts.length === 0) await takeIn(submitted.shift()!);
      } catch (error) {
        submitted.length = 0;
        await recover(error);
      }
    }
  };

  const recover = async (error: unknown): Promise<void> => {
    // Rejections of a lost device arrive before `lost` itself does.
    const reason = await Promise.race([runner.device.lost, soon().then(() => null)]);
    if (reason === null || closed) {
      endAll(asError(error));
      return;
    }
    // A request that was running at two losses may well be their cause.
    for (const sequence of scheduler.running) {
      if (++sequence.losses > 1)
        finish(
          sequence,
          'abort',
          null,
          new EngineError(
            'device_lost',
            `the GPU device was lost twice under this request (${reason}): send a smaller one`,
          ),
        );
    }
    try {
      counters.deviceRestarts++;
      scheduler.sweep();
      scheduler.restart();
      runner = await restart(reason);
    } catch (cause) {
      endAll(asError(cause));
    }
  };

  /** What is in the cache may be spoilt. */
  const endAll = (error: EngineError): void => {
    for (const sequence of [...scheduler.running, ...scheduler.waiting])
      finish(sequence, 'abort', null, error);
    scheduler.restart();
    scheduler.sweep();
    scheduler.flush();
  };

  const wake = (): void => {
    if (running || closed) return;
    running = run().finally(() => {
      running = null;
      if (scheduler.running.length + scheduler.waiting.length > 0) wake();
    });
  };

  return {
    counters,
    wake,
    abort(sequences, error) {
      for (const sequence of sequences) finish(sequence, 'abort', null, error);
      scheduler.sweep();
    },
    async close() {
      closed = true;
      for (const sequence of [...scheduler.running, ...scheduler.waiting]) finish(sequence, 'abort', null);
      scheduler.sweep();
      await running;
    },
  };
}

function notNumbers(): EngineError {
  return new EngineError(
    'internal',
    'the logits are not numbers: the weights or their precision do not fit this adapter; try --quantization none',
  );
}

function asError(cause: unknown): EngineError {
  if (cause instanceof EngineError) return cause;
  return new EngineError('internal', cause instanceof Error ? cause.message : String(cause), { cause });
}

function soon(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50));
}
