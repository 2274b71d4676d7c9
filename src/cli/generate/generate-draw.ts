// Draws the images of a run prompt by prompt and saves each as soon as it is finished. A prompt that fails, or an image that cannot be
// saved, does not stop the others.

import { join } from 'node:path';
import {
  coverImage,
  encodeImage,
  EngineError,
  frameOf,
  type ImageEvent,
  type ImageModel,
  type ImageModelInfo,
} from '../../index.ts';
import type { Digests } from './generate-input.ts';
import { asTyped } from './generate-names.ts';
import type { Report } from './generate-report.ts';
import { PREVIEW, type DrawPlan, type Sources, toImageRequests } from './generate-request.ts';
import { imageParameters, type ResolvedEvent } from './generate-resolved.ts';
import type { Interrupt } from '../process/interrupt.ts';
import type { Perf } from './perf-dump.ts';
import { saveOver } from './image-file.ts';
import { clipNames, saveNumbered } from './image-names.ts';

/** State that is shared by the parts of a run. */
export interface Run {
  plan: DrawPlan;
  /** Digests of the source images of the run. */
  digests: Digests;
  model: ImageModel;
  report: Report;
  perf: Perf;
  interrupt: Interrupt;
}

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

interface Task {
  index: number;
  prompt: string;
  resolved: ResolvedEvent;
  sources: Sources;
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
      await saveImage(run, task, event).catch((error: unknown) => {
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

/** Saves a preview, of a clip its first frame, at the size of the final image. Returns false, after a warning, if it cannot be saved; the run continues. */
async function savePreview(
  { plan, report }: Run,
  { width, height }: ResolvedEvent['values'],
  { image, sample, step }: Extract<ImageEvent, { type: 'preview' }>,
): Promise<boolean> {
  const path = join(plan.given.options['output-path'], PREVIEW);
  try {
    const shown = await coverImage(frameOf(image, 0), width, height);
    await saveOver(path, await encodeImage(shown, { format: 'png' }));
    report.preview(path, sample, step);
    return true;
  } catch (error) {
    report.warn(error instanceof Error ? error.message : String(error));
    return false;
  }
}

async function saveImage(run: Run, task: Task, event: Extract<ImageEvent, { type: 'image' }>): Promise<void> {
  const { plan, digests, model, report, perf } = run;
  const { options } = plan.given;
  const { index: prompt, resolved } = task;
  const { seed, sample, image } = event;
  const started = performance.now();
  const about = { info: model.info, values: resolved.values, digests };
  const quality = options['output-quality'];
  const pattern = (image.frames ?? 1) > 1 ? clipNames(plan.names) : plan.names;
  const bytes = await encodeImage(image, {
    format: pattern.format,
    ...(quality !== undefined && { quality }),
    parameters: imageParameters(plan, about, { prompt: task.prompt, seed }),
  });
  const names = nameValues(model.info, resolved, { prompt: task.prompt, seed, sample });
  const path = await saveNumbered(options['output-path'], pattern, names, bytes);
  perf.saved({ path, prompt, sample, seed }, performance.now() - started);
  report.saved({ path, prompt, sample, seed, width: image.width, height: image.height });
}

function nameValues(
  { name: model }: ImageModelInfo,
  { values: { width, height, steps } }: ResolvedEvent,
  image: { prompt: string; seed: number; sample: number },
) {
  const now = new Date();
  const two = (value: number) => String(value).padStart(2, '0');
  const date = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  const time = `${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
  return { ...image, model, width, height, steps, date, time };
}
