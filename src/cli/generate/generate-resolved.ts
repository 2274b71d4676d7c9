// The values that a run uses after the model's defaults are applied, each with its source: as a log line, as entries of the
// performance file, and as the configuration that reproduces one image.

import { isAbsolute, resolve } from 'node:path';
import {
  type ImageEvent,
  type ImageModelInfo,
  type ImageParameters,
  shippedImageModelPath,
  shippedVideoModelPath,
  type ValueSource,
} from '../../index.ts';
import { keyOf } from './config-file.ts';
import { HIDDEN_FOLDERS, withoutPlace } from './config-paths.ts';
import type { Digests } from './generate-input.ts';
import { GENERATE_OPTIONS, type GenerateOptions } from './generate-options.ts';
import { REQUEST_FIELDS } from './generate-names.ts';
import type { Origin, DrawPlan } from './generate-request.ts';
import { packageVersion } from '../process/package.ts';

export type ResolvedEvent = Extract<ImageEvent, { type: 'resolved' }>;

export interface ResolvedValue {
  value: unknown;
  source: Origin | Exclude<ValueSource, 'request'> | 'drawn' | 'default';
  /** The hint from which a model's value was taken. */
  by?: string;
}

/** Option name → value and source, for the options that determine the image and for every other option that was given. */
export function resolvedOptions(
  plan: DrawPlan,
  { values, sources, reasons }: ResolvedEvent,
): Record<string, ResolvedValue> {
  const { given, model, seeds } = plan;
  const from = (name: string) => given.origin(name) ?? 'default';
  const resolved: Record<string, ResolvedValue> = {
    'model-path': { value: model, source: from('model-path') },
  };
  for (const [name, field] of Object.entries(REQUEST_FIELDS)) {
    if (!(field in values)) continue;
    const key = field as keyof typeof values;
    if (!isStated(key, values)) continue;
    const source = sources[key];
    const by = reasons[key];
    resolved[name] = {
      value: values[key],
      source: source === 'request' ? from(name) : source,
      ...(by !== undefined && { by }),
    };
  }
  resolved['seed'] = { value: seeds.length > 1 ? seeds : seeds[0], source: given.origin('seed') ?? 'drawn' };
  if (seeds.length > 1) resolved['num-samples'] = { value: seeds.length, source: from('seed') };
  resolved['backend'] = { value: values.backend, source: from('backend') };
  for (const name of Object.keys(GENERATE_OPTIONS)) {
    const value = given.options[name as keyof GenerateOptions];
    const source = given.origin(name);
    if (resolved[name] === undefined && source !== null) resolved[name] = { value, source };
  }
  return resolved;
}

/** Whether a value means something for what is drawn: images have neither a number of frames nor a rate. */
function isStated(key: keyof ResolvedEvent['values'], values: ResolvedEvent['values']): boolean {
  return values[key] !== null && !((key === 'frames' || key === 'fps') && values.frames === 1);
}

/** Resolved options as one log line. */
export function resolvedText(options: Record<string, ResolvedValue>): string {
  const hidden = ['prompt', 'prompt-path', 'config', 'output-path', 'json', 'quiet', 'perf-dump-path'];
  const shown = Object.entries(options).filter(
    ([name, { value, source }]) => !hidden.includes(name) && !(value === '' && source !== 'command line'),
  );
  return shown
    .map(([name, { value, source, by }]) => {
      const text = typeof value === 'string' ? value || '""' : JSON.stringify(value);
      const from = source === 'contract' ? 'default' : source;
      return `${name} ${text} (${from}${by === undefined ? '' : `, by ${by}`})`;
    })
    .join(', ');
}

/** Options that change the image but are not among the resolved values. */
const KEPT = [
  'revision',
  'model-id',
  'image-path',
  'last-image-path',
  'mask-path',
  'lora-path',
  'lora-nickname',
  'lora-scale',
  'lora-target-modules',
  'textual-inversion-path',
  'ip-adapter-path',
  'ip-adapter-image',
  'ip-adapter-scale',
  'controlnet-path',
  'control-image',
  'control-scale',
  'control-start',
  'control-end',
  'enable-upscaling',
  'upscaling-model-path',
  'transformer-weights-path',
  'max-sequence-length',
  'flow-shift',
  'disable-autocast',
  'memory-budget',
  'generic-kwargs',
  'component-paths',
  'pipeline-class-name',
] as const satisfies (keyof GenerateOptions)[];

export function imageParameters(
  plan: DrawPlan,
  { info, values, digests }: { info: ImageModelInfo; values: ResolvedEvent['values']; digests: Digests },
  image: { prompt: string; seed: number },
): ImageParameters {
  const { options } = plan.given;
  const { prompt, seed } = image;
  const kept = KEPT.map((name) => [keyOf(name), withoutPlace(only(options[name]))]);
  const resolved = Object.entries(REQUEST_FIELDS).flatMap(([name, field]) =>
    field in values && isStated(field as keyof typeof values, values)
      ? [[keyOf(name), values[field as keyof typeof values]]]
      : [],
  );
  const all = {
    model_path: modelName(plan.model, info),
    prompt,
    ...Object.fromEntries([...kept, ...resolved]),
    ...digests,
    seed,
    num_samples: 1,
    backend: values.backend,
    quantization: info.quantization,
  };
  return {
    prompt,
    negativePrompt: values.negativePrompt,
    fields: {
      Steps: values.steps,
      Sampler: values.scheduler,
      'CFG scale': values.guidance,
      Seed: seed,
      Size: `${values.width}x${values.height}`,
      Model: info.name,
      // Other programs also count the layer that is read.
      ...(values.clipSkip > 0 && { 'Clip skip': values.clipSkip + info.unreadClipLayers + 1 }),
      ...(values.strength !== null && { 'Denoising strength': values.strength }),
      RNG: values.generatorDevice.toUpperCase(),
      Version: `svc-engine ${packageVersion()}`,
    },
    config: Object.fromEntries(
      Object.entries(all).filter(([, value]) => value !== undefined && value !== null),
    ),
  };
}

/** The entry of a list of one; other values are returned as they are. */
function only(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? value[0] : value;
}

/** The model's name in an image's configuration: an id or relative path that is also valid on another machine. */
function modelName(model: string, { name }: ImageModelInfo): string {
  if ([shippedImageModelPath(), shippedVideoModelPath()].includes(resolve(model))) return name;
  if (!isAbsolute(model)) return model;
  const shown = withoutPlace(model) as string;
  // A folder of the hub's cache is named by a commit hash, so the model's name replaces it.
  return shown.startsWith(HIDDEN_FOLDERS) ? `${HIDDEN_FOLDERS}${name}` : shown;
}
