// Loads a checkpoint onto a device by the options of a model: quantized weights, KV pages, compiled kernels.

import { bytesText } from '../../files/bytes-text.ts';
import { unsupported } from '../../files/error.ts';
import { noteOf } from '../../files/message.ts';
import type { Device } from '../../gpu/device.ts';
import type { RankSums } from '../../kernels/batch.ts';
import type { TextDeclaration } from '../../models/text/blocks/architecture.ts';
import type { Platform } from '../platform/platform.ts';
import { askedBeside, placedBeside } from './beside-device.ts';
import type { LoraHost, Loras } from './lora/loras.ts';
import { chooseQuantization, weightBytesIn } from '../weights/quantization.ts';
import { stepRows } from './request/defaults.ts';
import { openRunner } from './step/open-runner.ts';
import type { KeptSizes, RunnerCheckpoint, RunnerOptions } from './step/runner-options.ts';
import type { Runner } from './step/text-runner.ts';
import type { OpenEvent } from '../opening/open-event.ts';
import type { TextModelOptions } from './calls/text-model.ts';
import { DEFAULTS, LIMITS } from '../../options/limits.ts';
import type { TextFiles } from './text-files.ts';

export interface LoadedText {
  device: Device;
  runner: Runner;
  quantization: RunnerOptions['quantization'];
  /** Devices of the other ranks; left out: the model has one. */
  peers?: readonly Device[];
}

/** Options that determine the size of a runner. */
type SizeOption =
  | 'contextLength'
  | 'maxTotalTokens'
  | 'prefillChunk'
  | 'enableHiddenStates'
  | 'enableRoutedExperts'
  | 'logprobsMode'
  | 'kvCacheDtype'
  | 'batchInvariance'
  | 'speculativeAlgorithm'
  | 'speculativeNumDraftTokens';

/** The files of a text model that loading its weights onto a device needs. */
export interface LoadedFiles extends Pick<TextFiles, 'config' | 'media'>, Partial<Pick<TextFiles, 'draft'>> {
  checkpoint: RunnerCheckpoint;
  speech: Pick<TextFiles['speech'], 'endIds' | 'suppressedIds'>;
}

export interface LoadingParts {
  /** Sizes of the runner on a lost device; null: the model is opened for the first time. */
  kept: KeptSizes | null;
  packed: Platform['packed'];
  loras: Pick<Loras, 'attach'>;
  /** Exchange of a device that holds a part of the matrices with those that hold the others; left out: it holds all. */
  sums?: RankSums;
}

/** Room for end tokens and suppressed ones comes in multiples of this number, so that a plan, which opens no tokenizer, gets the same sizes. */
const OWN_BIASES = 8;

/** Converts the options of a model to the sizes of a runner. */
export function runnerSizes(
  device: Device,
  config: TextDeclaration,
  options: Pick<TextModelOptions, SizeOption> & { slots: number; ownBiases: number },
) {
  const { slots, kvCacheDtype = 'auto' } = options;
  return {
    contextLength: Math.min(options.contextLength ?? config.context, config.context),
    totalTokens: options.maxTotalTokens ?? Infinity,
    kvFormat: kvCacheDtype === 'auto' ? null : kvCacheDtype,
    slots,
    biases: LIMITS.biases + LIMITS.stopIds + Math.ceil(options.ownBiases / OWN_BIASES) * OWN_BIASES,
    hiddenStates: options.enableHiddenStates ?? false,
    routedExperts: options.enableRoutedExperts ?? false,
    batchInvariance: options.batchInvariance ?? true,
    drafts: draftTokens(options),
    processedLogprobs: options.logprobsMode === 'processed',
    rows: stepRows(device, config, options.prefillChunk, slots),
  };
}

/** Limit on the tokens of a draft; 0: none are drafted. */
export function draftTokens({
  speculativeAlgorithm = 'none',
  speculativeNumDraftTokens = DEFAULTS.draftTokens,
}: Pick<TextModelOptions, 'speculativeAlgorithm' | 'speculativeNumDraftTokens'>): number {
  return speculativeAlgorithm === 'none' ? 0 : speculativeNumDraftTokens;
}

/** Errors: out_of_memory, bad_checkpoint, what reading throws, and what `onEvent` throws to give it up. */
export async function loadOnto(
  device: Device,
  { checkpoint, config, media, speech, draft = null }: LoadedFiles,
  options: TextModelOptions,
  { kept, packed, loras, sums }: LoadingParts,
  onEvent: (event: OpenEvent) => void,
): Promise<LoadedText> {
  const bytesIn = weightBytesIn(device, checkpoint.tensors, config.generate!);
  const quantization = await chooseQuantization(device, options.quantization, bytesIn, (message) =>
    onEvent(noteOf(message)),
  );
  const sizes = {
    ...runnerSizes(device, config, {
      ...options,
      slots: options.maxRunningRequests ?? DEFAULTS.runningRequests,
      ownBiases: speech.endIds.length + speech.suppressedIds.length,
      ...(kept && { prefillChunk: kept.rows }),
    }),
    ...{ quantization, kept, packed, media, sums, draft },
    loras: (host: LoraHost) => loras.attach(host),
  };
  if (kept !== null) checkKept(device, kept, sizes.rows);
  const beside = await placedBeside(device, checkpoint, config, sizes, askedBeside(options, config));
  const runner = await openRunner(
    device,
    checkpoint,
    config,
    { ...sizes, ...beside },
    {
      onProgress: (bytes, totalBytes) => onEvent({ type: 'load', bytes, totalBytes }),
      onNote: (message) => onEvent(noteOf(message)),
    },
  );
  await runner.warmUp((done, total) => onEvent({ type: 'warmup', done, total }));
  return { device, runner, quantization };
}

/** Throws unsupported if the device cannot have the sizes of the lost one. `rows`: most rows of a step on the device, up to as many. */
function checkKept(device: Device, { rows: keptRows, pages, layout }: KeptSizes, rows: number): void {
  const { bindingLimit } = device.capabilities;
  if (rows === keptRows && pages * Math.max(0, ...layout.lanes) <= bindingLimit) return;
  throw unsupported(
    `the adapter that replaces the lost one binds at most ${bytesText(bindingLimit)}, which is too little for steps of ${keptRows} rows and ${pages} KV pages: open the model again`,
  );
}
