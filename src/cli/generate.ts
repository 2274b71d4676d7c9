// svc generate: pictures from prompts, into files. Everything is checked before the model is opened; a prompt that fails does not stop
// the others, nor does a picture that cannot be saved.

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { CommandDef } from 'citty';
import {
  encodeImage,
  EngineError,
  type ImageEvent,
  type ImageModel,
  type ImageModelInfo,
  type ImageModelOptions,
  type OpenEvent,
} from '../index.ts';
import { createCommand } from './command.ts';
import { EXIT } from './exit.ts';
import { fitSources, readSources } from './generate-input.ts';
import { asTyped } from './generate-names.ts';
import { GENERATE_OPTIONS } from './generate-options.ts';
import { createReport, type Report, tellError } from './generate-report.ts';
import {
  PREVIEW,
  type Given,
  makePlan,
  type Plan,
  readGiven,
  type Sources,
  toImageModelOptions,
  toImageRequest,
} from './generate-request.ts';
import { pictureParameters, type ResolvedEvent, resolvedOptions } from './generate-resolved.ts';
import { type Interrupt, untilInterrupted } from './interrupt.ts';
import { createPerf, type Perf, writePerf } from './perf-dump.ts';
import { makeFolder, removeLeftovers, saveOver } from './picture-file.ts';
import { saveNumbered } from './picture-names.ts';

export type OpenImageModel = (
  options: ImageModelOptions,
  onEvent?: (event: OpenEvent) => void,
) => Promise<ImageModel>;

export function createGenerate(open: OpenImageModel): CommandDef {
  return createCommand({
    name: 'generate',
    summary: 'Draw pictures from prompts with a diffusion model.',
    usage: ['--model-path <model> --prompt <text> [options]', '--config <file> [options]'],
    options: GENERATE_OPTIONS,
    notes:
      'Values typed here come before those of --config, then the model’s own, then the defaults shown. Each switch also takes true or false, and --no- turns it off.\n' +
      'Exit codes: 0 all saved, 1 a prompt failed, 2 wrong usage, 3 model not found, out of reach or refused, 4 out of memory, 130 interrupted.',
    async run(typed) {
      let { json } = typed.options;
      try {
        const given = await readGiven(typed);
        json = given.options.json;
        return await generate(open, given).catch((error: unknown) => {
          throw asTyped(error, given);
        });
      } catch (error) {
        if (json) tellError(error);
        throw error;
      }
    },
    unread(error, rawArgs) {
      const last = rawArgs.findLast((arg) => /^--(no-)?json(=|$)/.test(arg));
      if (last === '--json' || last === '--json=true') tellError(error);
    },
  });
}

/** What the parts of one run share. */
interface Run {
  plan: Plan;
  model: ImageModel;
  report: Report;
  perf: Perf;
  interrupt: Interrupt;
}

async function generate(open: OpenImageModel, given: Given): Promise<number> {
  const plan = await makePlan(given);
  const sources = await readSources(given);
  const { options } = given;
  const report = createReport(options);
  const perf = createPerf(plan.prompts, randomUUID());
  if (options['trust-remote-code']) {
    report.note('Python of a repository is never run: --trust-remote-code changes nothing');
  }
  const interrupt = untilInterrupted();
  try {
    const started = performance.now();
    const opening = open(toImageModelOptions(plan), (event) => report.opening(event));
    const model = await interrupt.orInterrupted(opening);
    try {
      perf.loaded(model.info, performance.now() - started);
      report.opened(model.info, performance.now() - started);
      return await drawAll({ plan, model, report, perf, interrupt }, sources);
    } finally {
      await model.close();
    }
  } catch (error) {
    if (interrupt.signal.aborted) report.interrupted(perf.dump.outputs.length);
    throw error;
  } finally {
    interrupt.end();
    report.end();
  }
}

async function drawAll(run: Run, sources: Sources): Promise<number> {
  const { plan, model, report, perf, interrupt } = run;
  const { options } = plan.given;
  const first = plan.prompts[0] ?? '';
  const resolved = await model.resolve(toImageRequest(plan, first, sources));
  const fitted = await fitSources(sources, resolved.values, options['generic-kwargs']);
  const values = resolvedOptions(plan, resolved);
  report.options(values);
  perf.resolved(values);
  await makeFolder(options['output-path']);
  await removeLeftovers(options['output-path']);
  if (options.warmup || options['enable-torch-compile']) {
    const started = performance.now();
    const steps = options.warmup ? options['warmup-steps'] : 0;
    await interrupt.orInterrupted(
      model.warmUp(toImageRequest(plan, first, fitted), steps, {
        tune: options['enable-torch-compile'] ?? false,
      }),
    );
    perf.warmedUp(performance.now() - started);
    report.note(`Warmed up in ${((performance.now() - started) / 1000).toFixed(2)} s`);
  }
  const started = performance.now();
  const failed = await drawPrompts(run, resolved, fitted);
  perf.finished(performance.now() - started);
  report.finished(perf.dump.outputs.length, failed, performance.now() - started);
  const place = options['perf-dump-path'];
  let isDumped = true;
  if (place !== undefined) {
    try {
      await writePerf(place, perf.dump);
      report.note(`Wrote what it took to ${place}`);
    } catch (error) {
      isDumped = false;
      report.error(error);
    }
  }
  return failed > 0 || !isDumped ? EXIT.failed : EXIT.ok;
}

/** Returns how many prompts failed. */
async function drawPrompts(run: Run, resolved: ResolvedEvent, sources: Sources): Promise<number> {
  const { plan, report } = run;
  let failed = 0;
  for (const [index, prompt] of plan.prompts.entries()) {
    report.prompt(index, plan.prompts.length, prompt, plan.seed);
    try {
      if (!(await drawPrompt(run, { index, prompt, resolved, sources }))) failed += 1;
    } catch (error) {
      if (endsTheRun(error)) throw error;
      tellFailure(run, index, asTyped(error, plan.given));
      failed += 1;
    }
  }
  return failed;
}

function tellFailure({ report, perf }: Run, prompt: number, error: unknown): void {
  const code = error instanceof EngineError ? error.code : 'internal';
  const message = error instanceof Error ? error.message : String(error);
  report.failed(prompt, code, message);
  perf.failed({ prompt, code, message });
}

/** The next prompt would end the same way, or nobody waits for it. */
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

/** Whether all of its pictures were saved; one that was not has been told of. */
async function drawPrompt(run: Run, task: Task): Promise<boolean> {
  const { plan, model, report, perf } = run;
  const { signal } = run.interrupt;
  const { options } = plan.given;
  const request = toImageRequest(plan, task.prompt, task.sources);
  const profile = options['perf-dump-path'] !== undefined;
  let isSaved = true;
  let previews = true;
  for await (const event of model.generate(request, { signal, profile })) {
    perf.event(task.index, event);
    report.event(event);
    if (event.type === 'image') {
      await savePicture(run, task, event).catch((error: unknown) => {
        tellFailure(run, task.index, error);
        isSaved = false;
      });
    }
    if (event.type === 'preview' && previews) previews = await savePreview(run, event);
  }
  return isSaved;
}

/** Whether it was saved; one that was not is not worth a picture. */
async function savePreview(
  { plan, report }: Run,
  { image, sample, step }: Extract<ImageEvent, { type: 'preview' }>,
): Promise<boolean> {
  const path = join(plan.given.options['output-path'], PREVIEW);
  try {
    await saveOver(path, await encodeImage(image, { format: 'png' }));
    report.preview(path, sample, step);
    return true;
  } catch (error) {
    report.warn(error instanceof Error ? error.message : String(error));
    return false;
  }
}

async function savePicture(
  run: Run,
  task: Task,
  event: Extract<ImageEvent, { type: 'image' }>,
): Promise<void> {
  const { plan, model, report, perf } = run;
  const { options } = plan.given;
  const { index: prompt, resolved } = task;
  const { seed, sample, image } = event;
  const started = performance.now();
  const about = { info: model.info, values: resolved.values };
  const quality = options['output-quality'];
  const bytes = await encodeImage(image, {
    format: plan.names.format,
    ...(quality !== undefined && { quality }),
    parameters: pictureParameters(plan, about, { prompt: task.prompt, seed }),
  });
  const names = nameValues(model.info, resolved, { prompt: task.prompt, seed, sample });
  const path = await saveNumbered(options['output-path'], plan.names, names, bytes);
  perf.saved({ path, prompt, sample, seed }, performance.now() - started);
  report.saved({ path, prompt, sample, seed, width: image.width, height: image.height });
}

function nameValues(
  { name: model }: ImageModelInfo,
  { values: { width, height, steps } }: ResolvedEvent,
  picture: { prompt: string; seed: number; sample: number },
) {
  const now = new Date();
  const two = (value: number) => String(value).padStart(2, '0');
  const date = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  const time = `${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
  return { ...picture, model, width, height, steps, date, time };
}
