// The engine's names under those of the command line. A message of the engine puts the names of its options and of its requests' fields
// between backticks; whoever never wrote them reads what is typed instead.

import type { ImageModelOptions } from '../index.ts';

/** What a model is opened with → the option of `svc` that gives it. */
export const MODEL_OPTIONS = {
  revision: 'revision',
  quantization: 'quantization',
  adapter: 'adapter',
  memoryBudget: 'memory-budget',
  safe: 'safe',
  backend: 'backend',
  allF32: 'disable-autocast',
  componentPaths: 'component-paths',
  transformerWeightsPath: 'transformer-weights-path',
  pipelineClassName: 'pipeline-class-name',
  modelId: 'model-id',
} as const satisfies Partial<Record<keyof ImageModelOptions, string>>;

type Names = Readonly<Record<string, string>>;

/** A message of the engine for somebody who types options. */
export function inOptions(message: string, names: Names = MODEL_OPTIONS): string {
  return message.replaceAll(/`(\w+)`/g, (marked, name: string) =>
    Object.hasOwn(names, name) ? `--${names[name]}` : marked,
  );
}
