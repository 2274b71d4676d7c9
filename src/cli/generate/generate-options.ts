// The options of `svc generate` in the groups of its help. Checks, help, the keys of a configuration file (underscores for hyphens)
// and the README's table come from this table.

import { PIPELINE_CLASSES } from '../../index.ts';
import { COMPONENTS_BY_PATH, IMAGE_MODEL } from '../../options/image-model.ts';
import { IMAGE_SAMPLING } from '../../options/image-request.ts';
import { LIMITS } from '../../options/limits.ts';
import { optionsOf } from '../options/setting-options.ts';
import { SAMPLING_OPTIONS } from './generate-sampling.ts';
import type { OptionTable, Values } from '../options/option.ts';
import { ENGINE_OPTIONS } from '../options/engine-options.ts';

const REQUIRED = 'Required (unless --config is given)';
const MODEL = 'Model configuration';
const WEIGHTS = 'LoRAs and quantization';
const PERFORMANCE = 'Performance';
const OUTPUT = 'Output and advanced';

const pipeline = optionsOf(IMAGE_MODEL);

/** A switch that is off where it is not given. */
const toggle = <G extends string>(group: G, help: string) =>
  ({ kind: 'boolean', group, help, otherwise: 'false' }) as const;

const REQUIRED_OPTIONS = {
  'model-path': {
    kind: 'string',
    isInput: true,
    elsewhere: ['model', 'm', 'ckpt', 'checkpoint', 'diffusion-model', 'pretrained-model-name-or-path'],
    group: REQUIRED,
    value: 'folder|file|id',
    help: 'Folder of a diffusers pipeline, a model in one .safetensors, .ckpt or .gguf file, or its id on the hub, as owner/name or owner/name:file (the second hub with SVC_USE_MODELHUB=1).',
  },
  prompt: {
    kind: 'texts',
    elsewhere: ['p', 'positive', 'positive-prompt'],
    group: REQUIRED,
    mayBeEmpty: true,
    help: 'What to draw; "" is valid, and leaves the choice to the model; repeat it for several prompts, drawn one after another.',
  },
  'prompt-path': {
    kind: 'string',
    isInput: true,
    group: REQUIRED,
    aliases: ['prompt-file-path'],
    value: 'file',
    help: 'Text file with one prompt a line, in place of --prompt.',
  },
} as const satisfies OptionTable;

const MODEL_OPTIONS = {
  config: {
    kind: 'string',
    group: MODEL,
    value: 'file',
    help: 'JSON or YAML file of these options, underscores for hyphens, or an image or video that svc drew; what is typed comes first. What it names to be read is looked for beside it first.',
  },
  'trust-remote-code': toggle(
    MODEL,
    'Changes nothing: Python of a repository is never run, and a checkpoint that needs it is refused.',
  ),
  revision: { ...ENGINE_OPTIONS.revision, group: MODEL },
} as const satisfies OptionTable;

const PLACE_OPTIONS = {
  ...pipeline,
  backend: { ...pipeline.backend, words: { sglang: 'svc', diffusers: 'generic' } },
  'component-paths': { ...pipeline['component-paths'], isMap: true, members: COMPONENTS_BY_PATH },
  'quantizer-config': { ...pipeline['quantizer-config'], isSettings: true },
  'attention-backend-config': { ...pipeline['attention-backend-config'], isSettings: true },
  'component-attention-backends': {
    ...pipeline['component-attention-backends'],
    isMap: true,
    isSettings: true,
  },
  'pipeline-class-name': {
    ...pipeline['pipeline-class-name'],
    kind: 'choice',
    choices: Object.keys(PIPELINE_CLASSES),
  },
  plan: toggle(
    'CPU offloading',
    'Print where the weights would be and what memory each stage would take, and draw nothing.',
  ),
  quantization: {
    ...ENGINE_OPTIONS.quantization,
    elsewhere: ['type', 'dtype', 'torch-dtype'],
    group: WEIGHTS,
  },
} as const satisfies OptionTable;

const PERFORMANCE_OPTIONS = {
  'enable-torch-compile': toggle(
    PERFORMANCE,
    'Prepare every kernel before the first step, and search for the fastest tiling of each on this adapter, 30 seconds at most.',
  ),
  warmup: {
    kind: 'boolean',
    aliases: ['warmup-mode'],
    words: { off: false, request: true, server: true },
    group: PERFORMANCE,
    help: 'Draw some steps before the first prompt, and count time after them.',
    otherwise: 'false',
  },
  'warmup-steps': {
    kind: 'integer',
    min: 1,
    max: LIMITS.steps,
    default: 1,
    group: PERFORMANCE,
    help: 'How many, with --warmup.',
  },
  'vae-tiling': optionsOf(IMAGE_SAMPLING)['vae-tiling'],
  adapter: { ...ENGINE_OPTIONS.adapter, elsewhere: ['device', 'gpu', 'device-id'], group: PERFORMANCE },
  'memory-budget': {
    ...ENGINE_OPTIONS['memory-budget'],
    elsewhere: ['lowvram', 'medvram', 'vram', 'max-vram'],
    group: PERFORMANCE,
    help: 'Memory for weights and activations together.',
  },
  safe: { ...ENGINE_OPTIONS.safe, group: PERFORMANCE },
} as const satisfies OptionTable;

/** Default quality of files that lose some. */
export const USUAL_QUALITY = 75;

const OUTPUT_OPTIONS = {
  'output-path': {
    kind: 'string',
    default: 'outputs/',
    elsewhere: ['output', 'o', 'output-dir', 'outdir'],
    group: OUTPUT,
    value: 'folder',
    help: 'Folder for what is drawn, made where there is none.',
  },
  'output-file-name': {
    kind: 'string',
    group: OUTPUT,
    value: 'name',
    help: 'Name of the image or clip in it; its ending chooses PNG, JPEG or WebP for an image, MP4, WebM, WebP or GIF for a clip, and / a folder of its frames. A name that is taken gets a number.',
    otherwise: 'generated_image_<index>.png, or generated_video_<index>.mp4',
  },
  'output-template': {
    kind: 'string',
    group: OUTPUT,
    value: 'pattern',
    help: 'Pattern of the names: {index} {seed} {sample} {prompt} {model} {date} {time} {width} {height} {steps}, / for folders.',
  },
  'output-quality': {
    kind: 'integer',
    min: 1,
    max: 100,
    aliases: ['output-compression'],
    words: { default: USUAL_QUALITY, low: 35, medium: 55, high: 90, maximum: 100 },
    group: OUTPUT,
    value: 'n|word',
    help: 'Quality of JPEG, WebP, MP4 and WebM: 1 to 100, low, medium, high or maximum.',
    otherwise: String(USUAL_QUALITY),
  },
  preview: toggle(
    OUTPUT,
    'Keep preview.png in the output folder at the state of the last step; of a clip preview.webp, which moves.',
  ),
  'perf-dump-path': {
    kind: 'string',
    group: OUTPUT,
    value: 'file',
    help: 'JSON file for times, memory, seeds and resolved options; its folder is made where there is none.',
  },
  json: toggle(OUTPUT, 'One JSON event a line on standard output, in place of the paths.'),
  quiet: toggle(OUTPUT, 'Nothing on standard error but warnings and errors.'),
  'generic-kwargs': {
    kind: 'json',
    group: OUTPUT,
    aliases: ['diffusers-kwargs'],
    help: "Call arguments of the diffusers pipeline, under diffusers' names; every backend takes them.",
  },
} as const satisfies OptionTable;

// Headings of the help stand in the order of their first options.
const { 'enable-teacache': teacache, ...SAMPLED } = SAMPLING_OPTIONS;
const { 'num-gpus': gpus, ...PLACED } = PLACE_OPTIONS;

export const GENERATE_OPTIONS = {
  ...REQUIRED_OPTIONS,
  ...MODEL_OPTIONS,
  ...SAMPLED,
  'num-gpus': gpus,
  'enable-teacache': teacache,
  ...PLACED,
  ...PERFORMANCE_OPTIONS,
  ...OUTPUT_OPTIONS,
};

export type GenerateOptions = Values<typeof GENERATE_OPTIONS>;
