// The settings for opening a model that only image models have.

import type { Settings } from './setting.ts';

const MODEL = 'Model configuration';
const WEIGHTS = 'Adapters and quantization';
const PERFORMANCE = 'Performance';
const OUTPUT = 'Output and advanced';

const IMAGE = ['image'] as const;

export const IMAGE_MODEL = {
  modelId: {
    kind: { type: 'text' },
    help: 'Tells the family where neither the folder nor model_index.json does.',
    models: IMAGE,
    flag: { group: MODEL, value: 'id' },
  },
  backend: {
    kind: { type: 'choice', choices: ['auto', 'svc', 'generic'] },
    help: 'svc: tuned kernels; generic: plain f32 kernels, which judge the tuned ones; auto: svc, wherever it runs the pipeline.',
    default: 'auto',
    models: IMAGE,
    flag: { group: MODEL },
  },
  transformerWeightsPath: {
    kind: { type: 'text' },
    help: "Weights for the denoiser in place of the model's: a .safetensors or .gguf file, or a folder; FP8, NF4 and GGUF are computed in their own codes.",
    models: IMAGE,
    flag: { group: WEIGHTS, value: 'path' },
  },
  allF32: {
    kind: { type: 'boolean' },
    help: 'Weights and activations in f32 throughout.',
    models: IMAGE,
    flag: { name: 'disable-autocast', group: PERFORMANCE, otherwise: 'false' },
  },
  componentPaths: {
    kind: { type: 'record', of: { type: 'text' } },
    help: 'Component of model_index.json to what takes its place: a .safetensors or .gguf file, its folder, or a pipeline that has it, as a path or hub id; also --component-paths.<component> <path> or --<component>-path <path>.',
    models: IMAGE,
    flag: { group: OUTPUT, elsewhere: ['vae', 'taesd', 'unet'] },
  },
  pipelineClassName: {
    kind: { type: 'text' },
    help: 'Class in place of the one that model_index.json, or the file of a model, names.',
    models: IMAGE,
    flag: { group: OUTPUT, value: 'class' },
  },
  /** Can only be set in a program: it has no flag and no field. */
  prepare: {
    kind: { type: 'boolean' },
    help: "Kernels for an image of the model's own size are compiled while it opens.",
    models: IMAGE,
  },
} as const satisfies Settings;
