// Draws the images or clips of a run prompt by prompt and saves each as soon as it is finished. A prompt that fails, or an image that
// cannot be saved, does not stop the others.

import { EngineError, type ImageEvent } from '../../index.ts';
import { asTyped } from './generate-names.ts';
import { type Sources, toImageRequests } from './generate-request.ts';
import type { ResolvedEvent } from './generate-resolved.ts';
import type { Run, Task } from './generate-run.ts';
import { savePreview, saveOutput } from './generate-save.ts';

/** Draws the prompts one after another; returns the number that failed. */
export async function drawPrompts(run: Run, resolved: ResolvedEvent, sources: Sources): Promise<number> {
  const { plan, report, perf } = run;
  let failed = 0;
  for (const [index, prompt] of plan.prompts.entries()) {
    report.prompt(index, plan.prompts.length, prompt, plan.seeds);
    try {
      if (!(await drawPrompt(run, { index, prompt, resolved, sources }))) failed += 1;
    } catch (error) {
      if (endsTheRun(error)) {
        if (!isCancelled(error)) perf.failed(failureOf(index, asTyped(error, plan.given)));
        throw error;
      }
      reportFailure(run, index, asTyped(error, plan.given));
      failed += 1;
    }
  }
  return failed;
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
async function drawPrompt(run: Run, task: Task): Promise<boolean> {
  const { report, perf } = run;
  let isSaved = true;
  let previews = true;
  for await (const event of drawn(run, task)) {
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
async function* drawn({ plan, model, interrupt: { signal } }: Run, task: Task): AsyncGenerator<ImageEvent> {
  const profile = plan.given.options['perf-dump-path'] !== undefined;
  for (const [first, request] of toImageRequests(plan, task.prompt, task.sources).entries()) {
    for await (const event of model.generate(request, { signal, profile })) {
      yield 'sample' in event ? { ...event, sample: first + event.sample } : event;
    }
  }
}
