// The engine's clock. While there is work: plan a step, submit it, and take in the tokens of the step before, which the
// device computed meanwhile. At most two steps are on their way; a token that a stop makes superfluous is dropped.

import { EngineError } from '../../files/error.ts';
import { NO_TOKEN_ALLOWED, NOT_A_TOKEN } from '../../kernels/sample.ts';
import { acceptForced } from './constrained.ts';
import { readLogprob } from './logprobs.ts';
import type { Drawn, Launched, Runner } from './step/runner.ts';
import type { Part, Scheduler } from './scheduler.ts';
import { asEngineError, type Sequence } from './sequence.ts';

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
  /** Kind of the cache's storage. */
  storageBackend?: string | undefined;
  /** A new runner after the device was lost. */
  restart(reason: string): Promise<Runner>;
}

interface Step {
  parts: Part[];
  launched: Launched;
  drawn: Promise<Drawn> | null;
  /** Parts whose token is known already: what was drawn for them means nothing. */
  known: Set<Part>;
}

const DEPTH = 2;

export function createLoop({ scheduler, runner: first, storageBackend, restart }: LoopOptions): Loop {
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
  let isNew = false;

  const submit = (parts: Part[]): Step => {
    counters.steps++;
    if (parts.length > 1) counters.sharedSteps++;
    for (const { sequence, processed, first: from } of parts) {
      // Only here: which rows have a mask is settled when a step is launched, and must still hold when it draws.
      if (sequence.constraint?.free) sequence.constraint = null;
      if (processed === null || sequence.leader) continue;
      counters.promptTokens += Math.max(0, processed - from);
      const cached = sequence.placement.prefix.found!;
      const { promptTokens } = sequence.progress;
      const backend = storageBackend === undefined ? {} : { storageBackend };
      const cachedTokens = cached.device + cached.host + cached.storage;
      sequence.emit({
        type: 'prefill',
        processed,
        promptTokens,
        cachedTokens,
        cached: { ...cached, ...backend },
      });
    }
    const drawLater = parts.some(({ samples, sequence }) => samples && sequence.isConstrained);
    const launched = runner.launch(parts, { drawLater });
    const drawn = drawLater ? null : launched.draw();
    drawn?.catch(() => {}); // read when its turn comes
    return { parts, launched, drawn, known: new Set() };
  };

  /** Masks follow from all tokens before, some of which may still be on their way: those are taken in first. */
  const draw = async (step: Step, before: Step[]): Promise<void> => {
    try {
      while (before.length > 0 && step.parts.some(waits)) await takeIn(before.shift()!, step);
    } catch (error) {
      step.launched.drop();
      throw error;
    }
    step.drawn = step.launched.draw();
    step.drawn.catch(() => {}); // read when its turn comes
  };

  const takeIn = async (step: Step, next: Step | null = null): Promise<void> => {
    const { ids, logprobs } = await step.drawn!;
    step.parts.filter(endsPrompt).forEach(({ sequence }) => orFail(sequence, () => sequence.acceptPrompt()));
    step.parts
      .filter(({ samples }) => samples)
      .forEach((part, row) => {
        const { sequence } = part;
        if (step.known.has(part)) return;
        const { progress } = sequence;
        progress.inFlight--;
        if (progress.finished) return;
        const count = progress.ids.length;
        orFail(sequence, () => accept(sequence, ids[row]!, logprobs, row));
        counters.generatedTokens += progress.ids.length - count;
        if (progress.ids.length > count + 1 && next !== null) forgo(next, sequence);
      });
    scheduler.sweep();
  };

  const accept = (sequence: Sequence, id: number, logprobs: Uint32Array, row: number): void => {
    if (id === NOT_A_TOKEN) {
      sequence.finish('abort', null, notNumbers(sequence));
      runner.pageCleaner.clear(scheduler.discard(sequence));
      return;
    }
    if (id === NO_TOKEN_ALLOWED) throw noToken(sequence);
    sequence.acceptToken(id, readLogprob(sequence, id, logprobs, row));
    acceptForced(sequence);
  };

  const run = async (): Promise<void> => {
    const submitted: Step[] = [];
    for (;;) {
      try {
        const parts = submitted.length < DEPTH ? scheduler.plan() : [];
        const moves = scheduler.takeMoves();
        isNew = false;
        runner.pageCleaner.ahead(scheduler.pages.pool.touched);
        if (moves) runner.movePages(moves);
        if (parts.length > 0) {
          const step = submit(parts);
          if (step.drawn === null) await draw(step, submitted);
          submitted.push(step);
        }
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
    const reason = await runner.device.loss();
    if (reason === null || closed) {
      endAll(asEngineError(error));
      return;
    }
    // A request that was running at two losses may well be their cause.
    for (const sequence of scheduler.running) {
      if (++sequence.progress.losses > 1)
        sequence.finish(
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
      for (const sequence of scheduler.waiting) {
        const lost = sequence.request.adapter?.lost;
        if (lost) sequence.finish('abort', null, lost);
      }
      scheduler.sweep();
    } catch (cause) {
      endAll(asEngineError(cause));
    }
  };

  /** What is in the cache may be spoilt. */
  const endAll = (error: EngineError): void => {
    for (const sequence of [...scheduler.running, ...scheduler.waiting])
      sequence.finish('abort', null, error);
    scheduler.restart();
    scheduler.sweep();
    scheduler.flush();
  };

  const wake = (): void => {
    isNew = true;
    if (running || closed) return;
    isNew = false;
    running = run()
      // What even starting afresh did not mend.
      .catch((error: unknown) =>
        [...scheduler.running, ...scheduler.waiting].forEach((sequence) => sequence.fail(error)),
      )
      .finally(() => {
        running = null;
        // What came while it ended.
        if (isNew) wake();
      });
  };

  return {
    counters,
    wake,
    abort(sequences, error) {
      for (const sequence of sequences) sequence.finish('abort', null, error);
      scheduler.sweep();
      wake();
    },
    async close() {
      closed = true;
      for (const sequence of [...scheduler.running, ...scheduler.waiting]) sequence.finish('abort', null);
      scheduler.sweep();
      await running;
    },
  };
}

/** An error ends the one sequence that it is about. */
function orFail(sequence: Sequence, take: () => void): void {
  try {
    take();
  } catch (error) {
    sequence.fail(error);
  }
}

function noToken({ request: { processor } }: Sequence): EngineError {
  const why =
    processor === null
      ? 'what the constraint, the processors and the biases of the request allow excludes all of them'
      : 'the wgsl processor of the request leaves none, or one of its loops does not end';
  const param = processor === null ? {} : { param: 'processors' };
  return new EngineError('bad_request', `no token is left to choose from: ${why}`, param);
}

function notNumbers({ request: { processor } }: Sequence): EngineError {
  if (processor !== null)
    return new EngineError(
      'bad_request',
      'the wgsl processor of the request returns NaN or infinity: let it return a finite number for every token (at most -3e38 excludes one)',
      { param: 'processors' },
    );
  return new EngineError(
    'internal',
    'the logits are not numbers: the weights or their precision do not fit this adapter; try `quantization` none',
  );
}

function endsPrompt({ sequence, first, rows }: Part): boolean {
  const { promptTokens } = sequence.progress;
  return first < promptTokens && first + rows >= promptTokens;
}

/** Whether the token before the one to be drawn is not known yet, and has to be. */
function waits({ samples, sequence }: Part): boolean {
  return samples && sequence.isConstrained && !sequence.finished && sequence.progress.inFlight > 1;
}

/** What the step would draw for this sequence follows from its constraint, and is taken in. */
function forgo(step: Step, sequence: Sequence): void {
  const part = step.parts.find((one) => one.samples && one.sequence === sequence);
  if (part === undefined) return;
  step.known.add(part);
  sequence.progress.inFlight--;
}
