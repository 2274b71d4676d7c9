// Adapters of a WebGPU implementation: which there are, which one a user means, and the device that the engine asks of it.

import { badRequest, EngineError } from '../files/error.ts';
import { option, say } from '../files/message.ts';
import type { AdapterSummary } from './adapter.ts';
import { chooseMatrixUnit, MATRIX_FEATURE, SIZE_FEATURE, type MatrixConfig } from './matrix-units.ts';

export interface FoundAdapter {
  adapter: GPUAdapter;
  summary: AdapterSummary;
  /** Features of WGSL that its WebGPU has beyond the first version of the language. */
  languageFeatures: ReadonlySet<string>;
}

const PREFERENCES: GPURequestAdapterOptions[] = [
  { powerPreference: 'high-performance' },
  { powerPreference: 'low-power' },
  { forceFallbackAdapter: true },
];

const WANTED_FEATURES = [
  'shader-f16',
  'subgroups',
  'timestamp-query',
  SIZE_FEATURE,
  MATRIX_FEATURE,
] as GPUFeatureName[];

const WANTED_LIMITS = [
  'maxStorageBufferBindingSize',
  'maxBufferSize',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupStorageSize',
  'maxComputeWorkgroupsPerDimension',
  'maxStorageBuffersPerShaderStage',
] as const;

/** Lists the adapters, best first. WebGPU cannot list them, so each preference is requested and duplicates are dropped. */
export async function findAdapters(gpu: GPU): Promise<FoundAdapter[]> {
  const found = new Map<string, FoundAdapter>();
  // Browsers of 2023 do not tell them.
  const { wgslLanguageFeatures = [] } = gpu as { wgslLanguageFeatures?: Iterable<string> };
  const languageFeatures = new Set(wgslLanguageFeatures);
  for (const preference of PREFERENCES) {
    const adapter = await gpu.requestAdapter(preference);
    if (!adapter) continue;
    const summary = summarize(adapter, found.size, languageFeatures);
    const key = JSON.stringify([summary.vendor, summary.device, summary.description]);
    if (!found.has(key)) found.set(key, { adapter, summary, languageFeatures });
  }
  return [...found.values()];
}

function summarize(
  adapter: GPUAdapter,
  index: number,
  languageFeatures: ReadonlySet<string>,
): AdapterSummary {
  const info = adapter.info as GPUAdapterInfo & { subgroupMatrixConfigs?: Iterable<MatrixConfig> };
  const limits: Record<string, number> = {};
  for (const key in adapter.limits) {
    const value = adapter.limits[key as keyof GPUSupportedLimits];
    if (typeof value === 'number') limits[key] = value;
  }
  const summary = {
    index,
    vendor: info.vendor,
    architecture: info.architecture,
    device: info.device,
    description: info.description,
    // Firefox and Safari tell no names.
    software:
      info.isFallbackAdapter ||
      /llvmpipe|swiftshader|microsoft basic render/i.test(info.description + info.architecture),
    features: [...adapter.features].map(String).sort(),
    limits,
    subgroupMinSize: info.subgroupMinSize ?? 0,
    subgroupMaxSize: info.subgroupMaxSize ?? 0,
  };
  const configs = [...(info.subgroupMatrixConfigs ?? [])];
  return { ...summary, matrixUnit: chooseMatrixUnit({ ...summary, languageFeatures, configs }) };
}

/** Returns the adapter whose index or part of whose name is `wanted`, the best one if nothing is wanted. Throws bad_request. */
export function chooseAdapter(found: readonly FoundAdapter[], wanted: string | undefined): FoundAdapter {
  if (wanted === undefined) return found[0]!;
  const text = wanted.toLowerCase();
  const match = found.find(({ summary }) =>
    /^-?\d+$/.test(text)
      ? summary.index === Number(text)
      : [summary.vendor, summary.architecture, summary.device, summary.description]
          .join(' ')
          .toLowerCase()
          .includes(text),
  );
  if (match) return match;
  const message = `adapter ${wanted} matches none of this machine: choose one of ${namesOf(found)}`;
  throw badRequest(message, 'adapter');
}

const namesOf = (found: readonly FoundAdapter[]): string =>
  found
    .map(
      ({ summary }) => `${summary.index}: ${summary.description || summary.device || summary.architecture}`,
    )
    .join('; ');

/** What can be done where WebGPU opens only the first of equal cards. */
const EQUAL_CARDS =
  "on Linux install a current VK_LAYER_MESA_device_select, Mesa's Vulkan layer that shows one card alone, start a server for each card in a container that has no other, behind a router";

/** One of several devices that compute together. */
export interface RankPlace {
  rank: number;
  ranks: number;
  /** Whether devices share an adapter. */
  isLogical: boolean;
}

/**
 * Returns the adapter of a rank: each has one of its own, and software ones count where there are no others. `hidden`: names of adapters that
 * cannot be opened. Throws no_adapter where there are too few, and bad_request for a wanted one that all would share.
 */
export function adapterOf(
  found: readonly FoundAdapter[],
  wanted: string | undefined,
  place: RankPlace = { rank: 0, ranks: 1, isLogical: false },
  hidden: readonly string[] = [],
): FoundAdapter {
  const { rank, ranks, isLogical } = place;
  const gpus = found.filter(({ summary }) => !summary.software);
  const usable = gpus.length > 0 ? gpus : found;
  if (isLogical && wanted === undefined) return usable[rank % usable.length]!;
  if (isLogical || ranks === 1) return chooseAdapter(found, wanted);
  const share = say`let them share with ${option('logicalRanks')}`;
  if (wanted !== undefined)
    throw badRequest(
      say`adapter ${wanted} is one adapter for ${ranks} ranks: give each a GPU of its own, or ${share}`,
      'adapter',
    );
  if (usable.length < ranks) {
    const equal =
      hidden.length > 0 ? `, and ${hidden.join(', ')}, which WebGPU cannot open beside its equal` : '';
    const remedy = hidden.length > 0 ? EQUAL_CARDS : 'give each a GPU of its own';
    throw new EngineError(
      'no_adapter',
      say`${option('numGpus')} ${ranks} needs as many adapters, and this machine has ${usable.length} (${namesOf(usable)})${equal}: ${remedy}, or ${share}`,
      { param: 'numGpus' },
    );
  }
  return usable[rank]!;
}

/** Asks for a device with the adapter's own limits and the features that kernels use where they are present. */
export function requestDevice(adapter: GPUAdapter): Promise<GPUDevice> {
  const requiredLimits: Record<string, number> = {};
  for (const key of WANTED_LIMITS) requiredLimits[key] = adapter.limits[key];
  return adapter.requestDevice({
    requiredFeatures: WANTED_FEATURES.filter((name) => adapter.features.has(name)),
    requiredLimits,
  });
}
