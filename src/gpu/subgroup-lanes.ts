// Lanes among which kernels may broadcast.

import type { AdapterSummary } from './adapter.ts';

/** Kernels broadcast only among the first lanes, so the smallest subgroup size counts. */
export function subgroupLanes(gpu: GPUDevice, { subgroupMinSize }: AdapterSummary): number {
  if (!gpu.features.has('subgroups') || subgroupMinSize < 4) return 1;
  return Math.min(subgroupMinSize, 16);
}
