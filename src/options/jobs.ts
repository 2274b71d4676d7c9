// The settings of jobs that answer no requests: planning a model's memory, and tuning its kernels.

import { IMAGE_SAMPLING } from './image-request.ts';
import { LOADING, SHARING } from './model.ts';
import type { Settings } from './setting.ts';

/** Settings of what a model of images or clips would draw. */
export const DRAWN = {
  width: IMAGE_SAMPLING.width,
  height: IMAGE_SAMPLING.height,
  frames: IMAGE_SAMPLING.frames,
} as const satisfies Settings;

/** Settings for planning the memory of a model: the ones for loading that it depends on. A plan holds for requests that are computed alike in any batch. */
export const PLANNING = {
  revision: LOADING.revision,
  quantization: LOADING.quantization,
  contextLength: LOADING.contextLength,
  memoryBudget: LOADING.memoryBudget,
  layerwiseOffload: LOADING.layerwiseOffload,
  cpuMoe: LOADING.cpuMoe,
  cpuMoeLayers: LOADING.cpuMoeLayers,
  cpuMoeSlots: LOADING.cpuMoeSlots,
  deterministic: LOADING.deterministic,
  activationDtype: LOADING.activationDtype,
  kvCacheDtype: LOADING.kvCacheDtype,
  judge: LOADING.judge,
  ...DRAWN,
} as const satisfies Settings;

/** Settings for tuning a model's kernels: those that its kernels depend on. */
export const TUNING = {
  revision: LOADING.revision,
  quantization: LOADING.quantization,
  contextLength: LOADING.contextLength,
  adapter: LOADING.adapter,
  memoryBudget: LOADING.memoryBudget,
  deterministic: LOADING.deterministic,
  activationDtype: LOADING.activationDtype,
  kvCacheDtype: LOADING.kvCacheDtype,
  maxRunningRequests: SHARING.maxRunningRequests,
  batchInvariance: SHARING.batchInvariance,
} as const satisfies Settings;
