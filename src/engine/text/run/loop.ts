// The engine loop. While there is work it plans a step, submits it, and then reads the tokens of the step before, which the device
// computed meanwhile. At most two steps are in flight; a token that was sampled after a stop is dropped.

import type { EngineError } from '../../../files/error.ts';
import type { Speculator } from '../speculation/speculator.ts';
import { sampledRows } from '../step/step-part.ts';
import type { Runner } from '../step/text-runner.ts';
import { lostTwice } from './sampling-errors.ts';
import type { Scheduler } from './scheduler.ts';
import { asEngineError, type Sequence } from './sequence.ts';
import { endsPrompt, type PlannedPart } from './step-plan.ts';
import { StepReader, type LoopCounters, type SubmittedStep } from './step-reader.ts';

export interface LoopOptions {
  scheduler: Scheduler;
  runner: Runner;
  /** Drafts tokens; null or left out: steps have no drafts. */
  speculator?: Speculator | null;
  /** Name of the prefix cache's storage, for `prefill` events. */
  storageBackend?: string | undefined;
  /** Opens a new runner after the device was lost. */
  restart(reason: string): Promise<Runner>;
}

/** Most steps in flight. */
const DEPTH = 2;

export class EngineLoop {
  readonly counters: LoopCounters = {
    steps: 0,
    sharedSteps: 0,
    promptTokens: 0,
    generatedTokens: 0,
    deviceRestarts: 0,
  };
  readonly #scheduler: Scheduler;
  /** Ends the wait for a tower alone. */
  #onWake: () => void = () => {};
  readonly #speculator: Speculator | null;
  readonly #reader: StepReader;
  readonly #storageBackend: string | undefined;
  readonly #restart: (reason: string) => Promise<Runner>;
  #runner: Runner;
  #running: Promise<void> | null = null;
  #closed = false;
  /** Whether `wake` was called since the last plan. */
  #woken = false;

  constructor({ scheduler, runner, speculator = null, storageBackend, restart }: LoopOptions) {
    this.#scheduler = scheduler;
    this.#speculator = speculator;
    this.#runner = runner;
    const { counters } = this;
    this.#reader = new StepReader({ scheduler, counters, speculator, runner: () => this.#runner });
    this.#takeRows();
    this.#storageBackend = storageBackend;
    this.#restart = restart;
  }

  /** Starts the loop, or makes it plan again, after work was added. */
  wake(): void {
    this.#woken = true;
    this.#onWake();
    if (this.#running || this.#closed) return;
    this.#woken = false;
    this.#running = this.#run()
      // Errors that remain after a restart.
      .catch((error: unknown) => this.#all().forEach((sequence) => sequence.fail(error)))
      // Kernels that only later requests need are compiled while nothing runs.
      .then(() => this.#runner.warmLater(() => this.#woken || this.#closed))
      .finally(() => {
        this.#running = null;
        // A request may have arrived while the loop ended.
        if (this.#woken) this.wake();
      });
  }

  /** Ends sequences now and frees their slots and pages at once. `error`: the cause, if the caller did not ask for the end. */
  abort(sequences: readonly Sequence[], error?: EngineError): void {
    for (const sequence of sequences) sequence.finish('abort', null, error);
    this.#scheduler.sweep();
    this.wake();
  }

  /** Ends all sequences and stops. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const sequence of this.#all()) sequence.finish('abort', null);
    this.#scheduler.sweep();
    this.#onWake();
    await this.#running;
  }

  #all(): Sequence[] {
    return [...this.#scheduler.running, ...this.#scheduler.waiting];
  }

  async #run(): Promise<void> {
    // Nothing runs yet: a device that was lost while the loop was idle is replaced before a sequence could be counted as the cause.
    if (this.#runner.device.isLost) await this.#recover(null);
    const submitted: SubmittedStep[] = [];
    for (;;) {
      try {
        const planned = performance.now();
        const planning = submitted.length < DEPTH ? this.#plan(submitted.length > 0) : [];
        const parts = Array.isArray(planning) ? planning : await planning;
        const moves = this.#scheduler.takeMoves();
        const mayWait = parts.length > 0 || submitted.length > 0;
        const tower = this.#runner.towers?.advance(this.#scheduler.running, { mayWait }) ?? null;
        this.#woken = false;
        this.#runner.pageCleaner.ahead(this.#scheduler.pages.pool.touched);
        // Pages that a sequence released while it ran were returned before the validity of their values was known.
        if (this.#scheduler.pages.isWindowed)
          this.#runner.pageCleaner.clear(this.#scheduler.pages.pool.takeReused());
        if (moves) this.#runner.movePages(moves);
        const sources = this.#scheduler.sources.take();
        if (sources.length > 0) await this.#runner.sources!.read(sources);
        if (parts.length > 0) {
          const step = this.#submit(parts, planned);
          if (step.launched.submitted) await step.launched.submitted;
          if (step.sampled === null) await this.#sample(step, submitted);
          submitted.push(step);
        }
        if (submitted.length === 0 && (moves || sources.length > 0)) continue;
        if (submitted.length === 0 && tower) {
          await this.#awaitTower(tower);
          continue;
        }
        if (submitted.length === 0) return;
        if (submitted.length === DEPTH || parts.length === 0) await this.#reader.read(submitted.shift()!);
      } catch (error) {
        submitted.length = 0;
        await this.#recover(error);
      }
    }
  }

  /** Plans the next step; none if its drafts depend on tokens that are being computed. */
  #plan(isBusy: boolean): PlannedPart[] | Promise<PlannedPart[]> {
    const scheduler = this.#scheduler;
    const speculator = this.#speculator;
    if (speculator === null) return scheduler.plan();
    if (isBusy && speculator.waits(scheduler.running)) return [];
    const told = this.#reader.takeTold();
    const preparing = speculator.prepare(told, this.#runner.drafts, scheduler.running);
    const plan = (): PlannedPart[] => scheduler.plan(speculator.choose(scheduler.running));
    return preparing === null ? plan() : preparing.then(plan);
  }

  /** The scheduler plans rows of media that the runner's device has, and steps of rows that it can compute at once. */
  #takeRows(): void {
    this.#scheduler.mostRows = (wanted) => this.#runner.mostRows(wanted);
    this.#scheduler.hasRows = this.#runner.towers?.hasRows ?? (() => false);
  }

  /** Waits until a tower is done, or more work has arrived. */
  async #awaitTower(tower: Promise<void>): Promise<void> {
    const woken = new Promise<void>((resolve) => (this.#onWake = resolve));
    await Promise.race([tower, woken]);
    const error = this.#runner.device.takeError();
    if (error !== null) throw error;
    // A medium that cannot be computed has ended its sequences.
    this.#scheduler.sweep();
  }

  #submit(parts: PlannedPart[], planned: number): SubmittedStep {
    this.counters.steps++;
    if (parts.length > 1) this.counters.sharedSteps++;
    for (const part of parts) {
      const { sequence } = part;
      // A constraint is dropped only here, because the rows with a mask must be the same when a step is launched and when it is
      // sampled.
      if (sequence.constraint?.free) sequence.constraint = null;
      this.#reportPrefill(part);
    }
    const sampleLater = parts.some((part) => sampledRows(part).some(({ isConstrained }) => isConstrained));
    const launched = this.#runner.launcher.launch(parts, { sampleLater });
    const sampled = sampleLater ? null : launched.sample();
    sampled?.catch(() => {}); // handled where the step is read
    return { parts, launched, sampled, superseded: new Set(), planned };
  }

  #reportPrefill(part: PlannedPart): void {
    const { sequence, processed, first } = part;
    if (processed === null || sequence.leader) return;
    const { source } = sequence.request;
    if (!source) this.counters.promptTokens += Math.max(0, processed - first);
    else if (endsPrompt(part)) this.counters.promptTokens += source.tokens;
    const cached = sequence.placement.prefix.found!;
    const storageBackend = this.#storageBackend;
    sequence.emit({
      type: 'prefill',
      processed: source?.tokens ?? processed,
      promptTokens: source?.tokens ?? sequence.progress.promptTokens,
      cachedTokens: cached.device + cached.host + cached.storage,
      cached: { ...cached, ...(storageBackend !== undefined && { storageBackend }) },
    });
  }

  /** Samples a step whose masks depend on all earlier tokens. Earlier steps that are still in flight are read first. */
  async #sample(step: SubmittedStep, before: SubmittedStep[]): Promise<void> {
    try {
      while (before.length > 0 && step.parts.some(awaitsToken))
        await this.#reader.read(before.shift()!, step);
    } catch (error) {
      step.launched.drop();
      throw error;
    }
    step.sampled = step.launched.sample();
    step.sampled.catch(() => {}); // handled where the step is read
  }

  /** After an error: opens a new device if the old one is lost, or else ends every sequence. */
  async #recover(error: unknown): Promise<void> {
    const reason = await this.#runner.device.loss();
    if (reason === null || this.#closed) {
      this.#endAll(asEngineError(error));
      return;
    }
    // A sequence that was running at two device losses is probably their cause.
    for (const sequence of this.#scheduler.running)
      if (++sequence.progress.losses > 1) sequence.finish('abort', null, lostTwice(reason));
    try {
      this.counters.deviceRestarts++;
      this.#scheduler.sweep();
      this.#scheduler.restart();
      this.#reader.takeTold();
      this.#runner = await this.#restart(reason);
      this.#takeRows();
      for (const sequence of this.#scheduler.waiting) {
        const lost = sequence.request.lora?.lost;
        if (lost) sequence.finish('abort', null, lost);
      }
      this.#scheduler.sweep();
    } catch (cause) {
      this.#endAll(asEngineError(cause));
    }
  }

  /** Ends all sequences and empties the caches: any page, and any row of a medium, may hold wrong values now. */
  #endAll(error: EngineError): void {
    for (const sequence of this.#all()) sequence.finish('abort', null, error);
    this.#runner.pageCleaner.restart();
    this.#scheduler.restart();
    this.#scheduler.sweep();
    this.#scheduler.flush();
    this.#runner.towers?.restart();
  }
}

/** Whether the mask of this part needs a token that is still in flight. */
function awaitsToken({ samples, sequence }: PlannedPart): boolean {
  return samples && sequence.isConstrained && !sequence.finished && sequence.progress.inFlight > 1;
}
