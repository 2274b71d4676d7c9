// Device memory for a page's handles, according to a plan. A handle may be placed again elsewhere without changing the requests or
// the page.

import type { Device } from '../../gpu/device.ts';
import type { Region, Tensor } from '../../gpu/tensor.ts';
import { fillZeros, wholeOf } from '../../gpu/memory.ts';
import { allocateWindows, Matrix, type MatrixWindow } from '../../kernels/matrix.ts';
import type { WeightHandle } from '../../models/weights.ts';
import type { PlannedRequest, WeightPlan } from './plan.ts';

/** A region of packed weights, with its name in the packed cache. */
export interface PackedRegion {
  name: string;
  region: Region;
}

/**
 * Allocates the memory of a plan, without the windows of matrices in host memory, whose indices are `hosted`. Throws out_of_memory;
 * then nothing stays allocated.
 */
export function placeWeights(
  device: Device,
  plan: WeightPlan,
  handles: readonly WeightHandle[],
  hosted: ReadonlySet<number> = new Set(),
): PackedRegion[] {
  const placed: PackedRegion[] = [];
  const zeros: Region[] = [];
  const marks = repetitions(plan);
  try {
    plan.requests.forEach((planned, i) => {
      const one = placeRequest(device, planned, handles[i]!, { isHosted: hosted.has(i), mark: marks[i]! });
      placed.push(...one.placed);
      zeros.push(...one.zeros);
    });
    fillZeros(device, zeros);
    return placed;
  } catch (error) {
    placed.forEach(({ region }) => device.free(region.buffer));
    throw error;
  }
}

/** Returns what tells apart the regions of requests that begin with parts of one tensor: '' for the first of them. */
export function repetitions({ requests }: WeightPlan): string[] {
  const counts = new Map<string, number>();
  return requests.map(({ request: { names } }) => {
    const count = (counts.get(names[0]!) ?? 0) + 1;
    counts.set(names[0]!, count);
    return count === 1 ? '' : `#${count}`;
  });
}

interface Placed {
  placed: PackedRegion[];
  /** Regions with padding, which must be zero. */
  zeros: Region[];
}

function placeRequest(
  device: Device,
  { request, matrix, floats, order }: PlannedRequest,
  handle: WeightHandle,
  { isHosted, mark }: { isHosted: boolean; mark: string },
): Placed {
  const name = request.names[0]! + mark;
  const zeros: Region[] = [];
  const placed: PackedRegion[] = [];
  const placePadded = (tensor: Tensor, of: string, bytes: number): void => {
    const one = placeFloats(device, tensor, of, bytes);
    placed.push(one);
    zeros.push(one.region);
  };
  try {
    if (!(handle instanceof Matrix)) {
      placePadded(handle, name, floats);
      return { placed, zeros };
    }
    if (!isHosted) {
      zeros.push(...allocateWindows(device, handle, matrix!));
      placed.push(...windowRegions(handle, mark));
    }
    if (handle.bias) placePadded(handle.bias, request.bias![0]! + mark, floats);
    if (handle.order) placePadded(handle.order, `${name}/order`, order);
    return { placed, zeros };
  } catch (error) {
    placed.forEach(({ region }) => device.free(region.buffer));
    throw error;
  }
}

/** The regions of a matrix without its bias. */
export function windowRegions(
  { name, windows }: { name: string; windows: readonly MatrixWindow[] },
  mark = '',
): PackedRegion[] {
  return windows.flatMap(({ codes, scales }, i) => [
    { name: `${name}${mark}/codes/${i}`, region: codes },
    ...(scales ? [{ name: `${name}${mark}/scales/${i}`, region: scales }] : []),
  ]);
}

function placeFloats(device: Device, tensor: Tensor, name: string, bytes: number): PackedRegion {
  const region = wholeOf(device.allocate('weights', name, bytes));
  tensor.place(region);
  return { name, region };
}
