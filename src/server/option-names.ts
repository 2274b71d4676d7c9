// The engine's names under those of the command line. A message of the engine puts the names of its options and of its requests' fields
// between backticks; whoever never wrote them reads what is typed instead.

import type { ImageModelOptions, TextModelOptions } from '../index.ts';

/** What a pipeline is opened with → the option of `svc` that gives it. */
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

/** The same of a language model. */
export const TEXT_OPTIONS = {
  contextLength: 'context-length',
  maxRunningRequests: 'max-running-requests',
  maxQueuedRequests: 'max-queued-requests',
  maxTotalTokens: 'max-total-tokens',
  prefillChunk: 'prefill-chunk',
  hostCache: 'host-cache',
  storageCache: 'storage-cache',
  storageCacheBytes: 'storage-cache-size',
  queueTimeout: 'queue-timeout',
  totalTimeout: 'request-timeout',
  loraPaths: 'lora-paths',
  loraDir: 'lora-dir',
  maxLoras: 'max-loras',
  maxLoraRank: 'max-lora-rank',
  enableHiddenStates: 'enable-return-hidden-states',
  enableRoutedExperts: 'enable-return-routed-experts',
  samplingDefaults: 'sampling-defaults',
  logprobsMode: 'logprobs-mode',
  customLogitProcessors: 'enable-custom-logit-processor',
  toolCallParser: 'tool-call-parser',
  reasoningParser: 'reasoning-parser',
  sleepAfter: 'sleep-idle-seconds',
} as const satisfies Partial<Record<keyof TextModelOptions, string>>;

type Names = Readonly<Record<string, string>>;

/** A message of the engine for somebody who types options. */
export function inOptions(message: string, names: Names = { ...MODEL_OPTIONS, ...TEXT_OPTIONS }): string {
  return message.replaceAll(/`(\w+)`/g, (marked, name: string) =>
    Object.hasOwn(names, name) ? `--${names[name]}` : marked,
  );
}
