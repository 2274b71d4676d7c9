// Limits and features of a device, by which kernels choose their variants.

import { unsupported } from '../files/error.ts';
import type { AdapterSummary } from './adapter.ts';
import type { ProbedAdapter } from './adapter-probe.ts';
import type { AdapterProfile } from './adapter-profile.ts';
import type { LinkedShader } from './linker.ts';
import { MATRIX_FEATURE, type MatrixUnit } from './matrix-units.ts';

/** Invocations of a workgroup up to which subgroups are pinned: drivers bound the subgroups of a workgroup, and WebGPU does not tell how. */
export const PINNED_INVOCATIONS = 256;

/** The WGSL language feature of dot4I8Packed. */
export const DOT_FEATURE = 'packed_4x8_integer_dot_product';

export interface Capabilities {
  /** Number of lanes among which a kernel may broadcast: 4, 8, 16 or 32; 1 without subgroups of a known size. */
  lanes: number;
  /** Number of lanes that share a split of K: at least a whole subgroup. */
  columnLanes: number;
  /** Lanes of a subgroup of kernels that fill the registers; null: the driver chooses. */
  subgroupSize: number | null;
  /**
   * Whether kernels keep loops of few turns that store or branch: Mesa unrolls those whose turns it can count, and its software driver then compiles five to
   * fifteen times as long.
   */
  rollsLoops: boolean;
  /** Whether shaders may compute in f16; storing f16 does not require it. */
  f16: boolean;
  /** Whether kernels convert halves by integers, because the adapter takes subnormal ones for zero. */
  exactHalves: boolean;
  /** Largest number of bytes in one binding. */
  bindingLimit: number;
  maxBufferSize: number;
  timestamps: boolean;
  /** Maximum workgroups along one dimension of a dispatch. */
  maxWorkgroups: number;
  /** Maximum invocations of one workgroup; at most PINNED_INVOCATIONS where subgroups are pinned. */
  maxInvocations: number;
  /** Bytes of the workgroup memory of one workgroup. */
  workgroupBytes: number;
  /** Whether shaders may multiply four integers of 8 bits at once. */
  integerDots: boolean;
  /** null: products and attention of many rows use no matrix units. */
  matrixUnit: MatrixUnit | null;
}

/**
 * `bindingLimit` lowers that of the device; `portable`: kernels use no subgroups. Those that are not what the adapter says of them are not used,
 * either.
 */
export function readCapabilities(
  gpu: GPUDevice,
  profile: AdapterProfile,
  {
    summary,
    probed,
    languageFeatures,
    portable = (probed?.subgroupProblem ?? null) !== null,
    bindingLimit,
  }: {
    summary: AdapterSummary;
    probed?: ProbedAdapter;
    languageFeatures?: ReadonlySet<string>;
    portable?: boolean;
    bindingLimit?: number;
  },
): Capabilities {
  const subgroupSize = gpu.features.has('subgroup-size-control') ? profile.subgroupSize : null;
  return {
    lanes: portable ? 1 : subgroupLanes(gpu, summary),
    // Without subgroups their sizes mean nothing: wgpu then tells 4 to 128.
    columnLanes: Math.max(profile.columnLanes, gpu.features.has('subgroups') ? summary.subgroupMaxSize : 0),
    exactHalves: probed?.keepsSubnormalHalves === false,
    subgroupSize,
    rollsLoops: summary.software,
    f16: gpu.features.has('shader-f16'),
    bindingLimit: Math.min(bindingLimit ?? Infinity, gpu.limits.maxStorageBufferBindingSize),
    maxBufferSize: gpu.limits.maxBufferSize,
    timestamps: gpu.features.has('timestamp-query'),
    maxWorkgroups: gpu.limits.maxComputeWorkgroupsPerDimension,
    maxInvocations: Math.min(
      gpu.limits.maxComputeInvocationsPerWorkgroup,
      subgroupSize === null ? Infinity : PINNED_INVOCATIONS,
    ),
    workgroupBytes: gpu.limits.maxComputeWorkgroupStorageSize,
    integerDots: languageFeatures?.has(DOT_FEATURE) !== false,
    matrixUnit: matrixUnitOf(gpu, summary, portable),
  };
}

function matrixUnitOf(gpu: GPUDevice, { matrixUnit }: AdapterSummary, portable?: boolean): MatrixUnit | null {
  const isUsable = !portable && gpu.features.has(MATRIX_FEATURE);
  return isUsable && typeof matrixUnit === 'object' ? matrixUnit : null;
}

/** Kernels broadcast only among the first lanes, so the smallest subgroup size counts. */
function subgroupLanes(gpu: GPUDevice, { subgroupMinSize }: AdapterSummary): number {
  if (!gpu.features.has('subgroups') || subgroupMinSize < 4) return 1;
  return Math.min(subgroupMinSize, 16);
}

/** Throws unsupported where a shader requires a WGSL language feature that is not among `features`; undefined: all are there. */
export function checkLanguage(
  { name, requires }: LinkedShader,
  features: ReadonlySet<string> | undefined,
): void {
  const missing = requires.filter((feature) => features?.has(feature) === false);
  if (missing.length === 0) return;
  throw unsupported(
    `${name} needs the WGSL language feature ${missing.join(' and ')}, which this WebGPU lacks: use a newer browser, or another one`,
  );
}
