// svc generate: images and videos from prompts, into files. Everything is checked before the model is opened.

import { randomUUID } from 'node:crypto';
import type { CommandDef } from 'citty';
import { MODEL_KINDS, type ImageModel, type ImageModelOptions, type OpenEvent } from '../../index.ts';
import { createCommand } from '../options/command.ts';
import { EXIT } from '../process/exit.ts';
import { drawPrompts } from './generate-draw.ts';
import type { Run } from './generate-run.ts';
import { checkOutput } from './generate-save.ts';
import { fitSources, readSources } from './generate-input.ts';
import { asTyped } from './generate-names.ts';
import { GENERATE_OPTIONS } from './generate-options.ts';
import { Report, writeError } from './generate-report.ts';
import {
  type Given,
  makePlan,
  readGiven,
  type Sources,
  toImageModelOptions,
  toImageRequest,
} from './generate-request.ts';
import { resolvedOptions } from './generate-resolved.ts';
import { untilInterrupted } from '../process/interrupt.ts';
import { Perf, writePerf } from './perf-dump.ts';
import { makeFolder, removeLeftovers } from './image-file.ts';
import { outliveReader } from '../process/terminal.ts';

export type OpenImageModel = (
  options: ImageModelOptions,
  onEvent?: (event: OpenEvent) => void,
) => Promise<ImageModel>;

export function createGenerate(open: OpenImageModel): CommandDef {
  return createCommand({
    name: 'generate',
    summary: 'Draw images, or videos, from prompts with a diffusion model.',
    usage: ['--model-path <model> --prompt <text> [options]', '--config <file> [options]'],
    options: GENERATE_OPTIONS,
    notes:
      'Values typed here come before those of --config, then the model’s own, then the defaults shown. Each switch also takes true or false, and --no- turns it off.\n' +
      'Exit codes: 0 all saved, 1 a prompt failed, 2 wrong usage, 3 model not found, out of reach or refused, 4 out of memory, 130 interrupted.',
    async run(typed) {
      let { json } = typed.options;
      outliveReader();
      try {
        const given = await readGiven(typed);
        json = given.options.json;
        return await generate(open, given).catch((error: unknown) => {
          throw asTyped(error, given);
        });
      } catch (error) {
        if (json) writeError(error);
        throw error;
      }
    },
    unread(error, rawArgs) {
      const last = rawArgs.findLast((arg) => /^--(no-)?json(=|$)/.test(arg));
      if (last === '--json' || last === '--json=true') writeError(error);
    },
  });
}

async function generate(open: OpenImageModel, given: Given): Promise<number> {
  const plan = await makePlan(given);
  MODEL_KINDS.image.check(toImageModelOptions(plan));
  const { sources, digests } = await readSources(given);
  const { options } = given;
  const report = new Report(options);
  const perf = new Perf(plan.prompts, randomUUID());
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
      return await drawAll({ plan, digests, model, report, perf, interrupt }, sources);
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
  await interrupt.orInterrupted(checkOutput(plan, resolved.values));
  const fitted = await fitSources(sources, resolved.values, options['generic-kwargs'], model.info.supports);
  if (options.plan) {
    report.plan(await interrupt.orInterrupted(model.plan(toImageRequest(plan, first, fitted))));
    return EXIT.ok;
  }
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
  const failed = await drawPrompts(run, resolved, fitted).catch(async (error: unknown) => {
    // Images that were drawn before an interrupt are counted.
    perf.finished(performance.now() - started);
    await dumpPerf(run);
    throw error;
  });
  perf.finished(performance.now() - started);
  report.finished(perf.dump.outputs.length, failed, performance.now() - started);
  const isDumped = await dumpPerf(run);
  return failed > 0 || !isDumped ? EXIT.failed : EXIT.ok;
}

/** Writes the performance file if one was requested; returns false if that failed. */
async function dumpPerf({ plan, report, perf }: Run): Promise<boolean> {
  const place = plan.given.options['perf-dump-path'];
  if (place === undefined) return true;
  try {
    await writePerf(place, perf.dump);
    report.note(`Wrote what it took to ${place}`);
    return true;
  } catch (error) {
    report.error(error);
    return false;
  }
}
