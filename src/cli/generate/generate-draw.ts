// Draws the images or clips of a run prompt by prompt and saves each as soon as it is finished. A prompt that fails, or an image that
// cannot be saved, does not stop the others.

import { EngineError, type ImageEvent } from '../../index.ts';
import { asTyped } from './generate-names.ts';
import { type Sources, toImageRequests } from './generate-request.ts';
import type { ResolvedEvent } from './generate-resolved.ts';
import type { Run, Task } from './generate-run.ts';
import { savePreview, saveOutput } from './generate-save.ts';

/**
 * Draws the prompts in order, with those behind them that the engine draws at once; returns the number that failed. What is drawn of later prompts
 * waits until the earlier ones are saved.
 */
export async function drawPrompts(run: Run, resolved: ResolvedEvent, sources: Sources): Promise<number> {
  const { plan, report, perf } = run;
  const tasks = plan.prompts.map((prompt, index): Task => ({ index, prompt, resolved, sources }));
  const atOnce = promptsAtOnce(run, resolved);
  let begun: Begun[] = [];
  let failed = 0;
  try {
    for (const [index, task] of tasks.entries()) {
      report.prompt(index, tasks.length, task.prompt, plan.seeds);
      if (begun.length === 0) begun = tasks.slice(index, index + atOnce).map((one) => begin(drawn(run, one)));
      try {
        if (!(await drawPrompt(run, task, begun.shift()!))) failed += 1;
      } catch (error) {
        if (endsTheRun(error)) {
          if (!isCancelled(error)) perf.failed(failureOf(index, asTyped(error, plan.given)));
          throw error;
        }
        reportFailure(run, index, asTyped(error, plan.given));
        failed += 1;
        // Prompts that were drawn together with this one are begun again, on the device that is opened next.
        if (error instanceof EngineError && error.code === 'device_lost') await leave(begun.splice(0));
      }
    }
  } finally {
    await leave(begun);
  }
  return failed;
}

/** Prompts whose results the engine draws at once; with a profile, or with previews, which would wait in memory, one. */
function promptsAtOnce({ plan }: Run, { joins, values }: ResolvedEvent): number {
  const { 'perf-dump-path': perf, preview } = plan.given.options;
  if (!joins || perf !== undefined || preview) return 1;
  return Math.max(1, Math.floor(joins.most / values.samples));
}

type Events = AsyncGenerator<ImageEvent, void, void>;

/** Events of a prompt that is drawn before they are read. */
interface Begun {
  first: Promise<IteratorResult<ImageEvent, void>>;
  events: Events;
}

function begin(events: Events): Begun {
  const first = events.next();
  first.catch(() => {}); // thrown where it is read
  return { first, events };
}

async function leave(begun: readonly Begun[]): Promise<void> {
  await Promise.all(begun.map(({ events }) => events.return()));
}

async function* read({ first, events }: Begun): Events {
  try {
    for (let one = await first; !one.done; one = await events.next()) yield one.value;
  } finally {
    await events.return();
  }
}

function reportFailure({ report, perf }: Run, prompt: number, error: unknown): void {
  const failure = failureOf(prompt, error);
  report.failed(prompt, failure.code, failure.message);
  perf.failed(failure);
}

function failureOf(prompt: number, error: unknown): { prompt: number; code: string; message: string } {
  const code = error instanceof EngineError ? error.code : 'internal';
  return { prompt, code, message: error instanceof Error ? error.message : String(error) };
}

function isCancelled(error: unknown): boolean {
  return error instanceof EngineError && error.code === 'cancelled';
}

/** Returns true if an error ends the whole run: the next prompt would fail too, or the run was cancelled. */
function endsTheRun(error: unknown): boolean {
  return (
    error instanceof EngineError &&
    ['bad_checkpoint', 'cancelled', 'out_of_memory', 'no_adapter'].includes(error.code)
  );
}

/** Draws and saves the images of a prompt. Returns false if one could not be saved; that failure is already reported. */
async function drawPrompt(run: Run, task: Task, begun: Begun): Promise<boolean> {
  const { report, perf } = run;
  let isSaved = true;
  let previews = true;
  for await (const event of read(begun)) {
    perf.event(task.index, event);
    report.event(event);
    if (event.type === 'image') {
      await saveOutput(run, task, event).catch((error: unknown) => {
        if (isCancelled(error)) throw error;
        reportFailure(run, task.index, error);
        isSaved = false;
      });
    }
    if (event.type === 'preview' && previews) previews = await savePreview(run, task.resolved.values, event);
  }
  return isSaved;
}

/** Runs the requests of a prompt in order; `sample` is numbered consecutively over the requests. */
async function* drawn({ plan, model, interrupt: { signal } }: Run, task: Task): Events {
  const profile = plan.given.options['perf-dump-path'] !== undefined;
  for (const [first, request] of toImageRequests(plan, task.prompt, task.sources).entries()) {
    for await (const event of model.generate(request, { signal, profile })) {
      yield 'sample' in event ? { ...event, sample: first + event.sample } : event;
    }
  }
}
