// Reads the options of `svc generate` from the command line and the configuration file, checks them as a whole before anything is
// loaded, and converts them to the engine's names.

import { randomInt } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import {
  configOfImage,
  type ImageModelOptions,
  type ImageRequest,
  PIPELINE_CLASSES,
  type Pixels,
} from '../../index.ts';
import { IMAGE_MODEL } from '../../options/image-model.ts';
import { cacheFromEnvironment } from '../options/cache-environment.ts';
import { IMAGE_SAMPLING } from '../../options/image-request.ts';
import { MODEL_SETTINGS } from '../../options/model.ts';
import { forModels } from '../../options/setting.ts';
import { settingsGiven } from '../options/setting-options.ts';
import type { Arguments } from '../options/arguments.ts';
import { keyOf, readConfigFile } from './config-file.ts';
import { MOST_TEXT_BYTES, readBounded } from '../process/bounded-file.ts';
import { UsageError } from '../process/exit.ts';
import { checkAdapters, withoutSpareAdapters } from './generate-adapters.ts';
import { missing } from './generate-example.ts';
import { GENERATE_OPTIONS, type GenerateOptions } from './generate-options.ts';
import { takesFiles } from './image-file.ts';
import { outputNames, type OutputNames } from './name-pattern.ts';
import { textOf } from '../process/text-file.ts';

export type Origin = 'command line' | 'config file';

export interface Given {
  options: GenerateOptions;
  /** Where an option was given; null if it was not. */
  origin(name: string): Origin | null;
  /** The name under which the user gave an option, for messages. */
  nameOf(name: string): string;
}

/** The decisions about a run that need no model. */
export interface DrawPlan {
  given: Given;
  model: string;
  prompts: string[];
  /** One seed per sample of a prompt, or a single one that is incremented for each sample. */
  seeds: [number, ...number[]];
  names: OutputNames;
}

/** Options that were typed take precedence over the configuration file. */
export async function readGiven({ options, typed }: Arguments<typeof GENERATE_OPTIONS>): Promise<Given> {
  const file = options.config;
  const config: Record<string, unknown> =
    file === undefined ? {} : await readConfigFile(file, GENERATE_OPTIONS, typed);
  // A prompt on the command line replaces all prompts of the file.
  const dropped = typed.has('prompt') || typed.has('prompt-path') ? ['prompt', 'prompt-path'] : [];
  const kept = Object.entries(config).filter(([name]) => !typed.has(name) && !dropped.includes(name));
  const fromFile = new Set(kept.map(([name]) => name));
  return {
    options: { ...options, ...Object.fromEntries(kept) },
    origin: (name) => (typed.has(name) ? 'command line' : fromFile.has(name) ? 'config file' : null),
    nameOf: (name) => (fromFile.has(name) ? `${keyOf(name)} in ${file}` : `--${name}`),
  };
}

/** Throws UsageError if an option is invalid or conflicts with another. */
export async function makePlan(given: Given): Promise<DrawPlan> {
  const { options, nameOf } = given;
  checkTogether(given);
  const model = options['model-path'];
  const prompts = await readPrompts(given);
  if (model === undefined || prompts === null) throw missing(options, model === undefined, prompts === null);
  checkModelPath(given, model);
  checkDenoiserPath(given);
  checkFolders(given);
  const [first = randomInt(2 ** 32), ...others] = options.seed ?? [];
  const seeds: DrawPlan['seeds'] = [first, ...others];
  const names = outputNames({
    nameOf,
    fileName: options['output-file-name'],
    template: options['output-template'],
    outputs: prompts.length * Math.max(seeds.length, options['num-samples'] ?? 1),
  });
  return { given, model, prompts, seeds, names };
}

function checkTogether({ options, nameOf }: Given): void {
  const needs = (name: keyof GenerateOptions, other: keyof GenerateOptions) => {
    if (options[name] !== undefined && options[other] === undefined) {
      throw new UsageError(`${nameOf(name)} needs ${nameOf(other)}: give both, or neither`);
    }
  };
  needs('strength', 'image-path');
  needs('mask-path', 'image-path');
  needs('last-image-path', 'image-path');
  needs('ip-adapter-scale', 'ip-adapter-image');
  if (options['component-paths']?.['upscaler'] === undefined && options['enable-upscaling'])
    needs('enable-upscaling', 'upscaling-model-path');
  needs('upscaling-model-path', 'enable-upscaling');
  needs('upscaling-scale', 'enable-upscaling');
  for (const name of ['control-scale', 'control-start', 'control-end'] as const) needs(name, 'control-image');
  checkInputs({ options, nameOf });
  if (options['warmup-steps'] !== 1 && !options.warmup) {
    throw new UsageError(`${nameOf('warmup-steps')} needs --warmup: give both, or neither`);
  }
  if (options.prompt !== undefined && options['prompt-path'] !== undefined) {
    throw new UsageError(
      `${nameOf('prompt')} and ${nameOf('prompt-path')} both give prompts: give one of them`,
    );
  }
  checkSeeds({ options, nameOf });
  checkAdapters(options, nameOf);
  const paths = Object.entries(options['component-paths'] ?? {});
  const wrong = paths.find(([, path]) => typeof path !== 'string' || path === '');
  if (wrong !== undefined) {
    throw new UsageError(
      `${nameOf('component-paths')} maps components to files, folders or hub ids, got ${JSON.stringify(wrong[1])} for ${wrong[0]}`,
    );
  }
}

/** Throws UsageError if the named pipeline class requires an image or a mask that is not given. */
function checkInputs({ options, nameOf }: Pick<Given, 'options' | 'nameOf'>): void {
  const { 'pipeline-class-name': className = '' } = options;
  const task = PIPELINE_CLASSES[className] ?? 'text-to-image';
  const inputs = {
    'text-to-image': [],
    'image-to-image': ['image-path'],
    inpainting: ['image-path', 'mask-path'],
  } as const;
  const input = inputs[task].find((name) => options[name] === undefined);
  if (input === undefined) return;
  throw new UsageError(
    `${nameOf('pipeline-class-name')} ${className} needs --${input}: give both, or take another class`,
  );
}

/** Throws UsageError if a list of seeds and the number of samples differ in length. */
function checkSeeds({ options, nameOf }: Pick<Given, 'options' | 'nameOf'>): void {
  const count = options.seed?.length ?? 1;
  const { 'num-samples': samples, 'generic-kwargs': kwargs = {} } = options;
  const [asked, name] =
    samples === undefined
      ? [kwargs['num_images_per_prompt'], `num_images_per_prompt in ${nameOf('generic-kwargs')}`]
      : [samples, nameOf('num-samples')];
  if (count === 1 || asked === undefined || asked === count) return;
  throw new UsageError(
    `${nameOf('seed')} has ${count} entries, and ${name} is ${JSON.stringify(asked)}: give one for each image, or a single one to count from`,
  );
}

/** Reads the prompts; null if none were given. */
async function readPrompts({ options, nameOf }: Given): Promise<string[] | null> {
  const path = options['prompt-path'];
  if (path === undefined) {
    const { prompt } = options;
    return prompt === undefined || prompt.length === 0 ? null : prompt;
  }
  const name = `the file ${path} of ${nameOf('prompt-path')}`;
  const lines = textOf(await readBounded(path, name, MOST_TEXT_BYTES), path)
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '');
  if (lines.length === 0) throw new UsageError(`${name} holds no prompt`);
  return lines;
}

function checkModelPath({ options, nameOf }: Given, model: string): void {
  if (options.revision !== undefined && existsSync(model)) {
    throw new UsageError(
      `${nameOf('revision')} is for models on the hub, and ${model} lies on this machine: leave it out`,
    );
  }
}

/** Checks the path of the denoiser's weights by its name; the engine checks the content. */
function checkDenoiserPath({ options, nameOf }: Given): void {
  const path = options['transformer-weights-path'];
  if (path === undefined) return;
  const name = nameOf('transformer-weights-path');
  if (!existsSync(path)) throw new UsageError(`there is no ${path}, which ${name} names`);
  if (statSync(path).isFile() && !/\.(safetensors|gguf|ckpt|pt|pth|bin)$/i.test(path))
    throw new UsageError(`${name} is a .safetensors, .gguf or .ckpt file, or a folder, got ${path}`);
}

/** File in the output folder that shows the image, or the clip, while it is drawn. */
export const PREVIEWS = { image: 'preview.png', clip: 'preview.webp' };

/** Refuses folders that cannot be created or written to, before the model is opened. */
function checkFolders({ options, nameOf }: Given): void {
  checkFolder(options['output-path'], nameOf('output-path'));
  for (const name of Object.values(PREVIEWS)) {
    const preview = join(options['output-path'], name);
    if (options.preview && existsSync(preview) && configOfImage(readFileSync(preview)) !== null)
      throw new UsageError(
        `${nameOf('preview')} would replace ${preview}, which is an image that was drawn: rename it, or name another --output-path`,
      );
  }
  const dump = options['perf-dump-path'];
  if (dump === undefined) return;
  checkFolder(dirname(dump), nameOf('perf-dump-path'));
  if (/[/\\]$/.test(dump) || statSync(dump, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`${nameOf('perf-dump-path')} names a file, and ${dump} is a folder`);
  }
}

function checkFolder(folder: string, name: string): void {
  let above = resolve(folder);
  // On Windows the drive itself may not exist; then the loop ends at its root.
  while (!isThere(above) && dirname(above) !== above) above = dirname(above);
  const info = statSync(above, { throwIfNoEntry: false });
  if (!info) throw new UsageError(`${name} needs a folder, and ${above} is a link to what is not there`);
  if (!info.isDirectory()) throw new UsageError(`${name} needs a folder, and ${above} is a file`);
  if (!takesFiles(above)) {
    throw new UsageError(`${name} ${folder} cannot be written to: name another folder`);
  }
}

/** Whether a path exists; a broken symbolic link counts as existing. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

export function toImageModelOptions({ given: { options }, model }: DrawPlan): ImageModelOptions {
  const { width, height, scheduler } = settingsGiven(IMAGE_SAMPLING, options);
  const cacheDitConfig = options['cache-dit-config'] ?? cacheFromEnvironment(process.env);
  const first = Object.entries({ width, height, scheduler }).filter(([, value]) => value !== undefined);
  return {
    model,
    ...(first.length > 0 && { firstRequest: Object.fromEntries(first) }),
    ...settingsGiven(forModels(MODEL_SETTINGS, 'image'), options),
    ...settingsGiven(IMAGE_MODEL, withoutSpareAdapters(options)),
    ...(cacheDitConfig && { cacheDitConfig }),
  };
}

/** The decoded input image and mask; width and height are set once they are scaled to the output size. */
export interface Sources {
  width?: number;
  height?: number;
  image?: Pixels;
  furtherImages?: Pixels[];
  lastImage?: Pixels;
  mask?: Pixels;
  controlImages?: Pixels[];
  ipAdapterImage?: Pixels;
}

/** Returns the request for all images of a prompt, which is resolved and warmed up. */
export function toImageRequest(plan: DrawPlan, prompt: string, sources: Sources): ImageRequest {
  const {
    seeds,
    given: { options },
  } = plan;
  const kwargs = options['generic-kwargs'];
  const given = { ...settingsGiven(IMAGE_SAMPLING, options), ...(kwargs && { kwargs }) };
  return {
    prompt,
    seed: seeds[0],
    ...given,
    ...(seeds.length > 1 && { samples: seeds.length }),
    ...(options.preview && { previews: Infinity }),
    ...sources,
  };
}

/** Returns the requests to the engine for a prompt: one for each seed of a list. */
export function toImageRequests(plan: DrawPlan, prompt: string, sources: Sources): ImageRequest[] {
  const whole = toImageRequest(plan, prompt, sources);
  return plan.seeds.length === 1 ? [whole] : plan.seeds.map((seed) => ({ ...whole, seed, samples: 1 }));
}
