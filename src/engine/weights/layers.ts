// The layers of a page by the names of its tensors, and which of their matrices stay on the device while the others are streamed from
// host memory, or from a file.

import type { HostBuffers } from '../../gpu/host-buffers.ts';
import { allocatedBytes } from '../../gpu/tensor.ts';
import type { PlannedRequest, WeightPlan } from './plan.ts';

/** How many of the layers' matrices stay on the device: those of the first layers, or the first that take no more than some bytes. */
export type ResidentPart = { layers: number } | { bytes: number };

/** A module of a list with modules of its own, such as `model.layers.7` in `model.layers.7.mlp.up_proj.weight`. */
const LAYER = /^(.+?\.\d+)\.[^.]+\../;

/** Returns the layer that a tensor belongs to; null: none. */
export function layerOf(name: string): string | null {
  return LAYER.exec(name)?.[1] ?? null;
}

/** Returns the layers that tensors belong to, in order. */
export function layerNames(names: Iterable<string>): string[] {
  return [...new Set([...names].map(layerOf))].filter((layer) => layer !== null);
}

/** Bytes of a matrix without its bias. */
export function windowBytes({ matrix }: PlannedRequest): number {
  return (matrix?.windows ?? []).reduce((sum, { codes, scales }) => sum + codes + scales, 0);
}

/** Bytes of the buffers that hold a matrix without its bias. */
export function bufferBytes({ matrix }: PlannedRequest): number {
  const pieces = (matrix?.windows ?? []).flatMap(({ codes, scales }) => [codes, scales]);
  return pieces.reduce((sum, size) => sum + (size > 0 ? allocatedBytes(size) : 0), 0);
}

/**
 * Returns the indices of the requests that are streamed: matrices in layers, except those that stay. Vectors, biases and matrices
 * outside of layers stay on the device. `others`: indices of requests that are in host memory anyway.
 */
export function streamedRequests(
  plan: WeightPlan,
  resident: ResidentPart,
  others: ReadonlySet<number> = new Set(),
): Set<number> {
  const names = plan.requests.map(({ request }) => request.names[0]!);
  const staying = new Set(layerNames(names).slice(0, 'layers' in resident ? resident.layers : 0));
  let room = 'bytes' in resident ? resident.bytes : 0;
  const streamed = new Set<number>();
  plan.requests.forEach((planned, i) => {
    const layer = layerOf(names[i]!);
    if (planned.matrix === null || layer === null || staying.has(layer) || others.has(i)) return;
    const bytes = windowBytes(planned);
    room -= bytes;
    if (room < 0) streamed.add(i);
  });
  return streamed;
}

/**
 * Returns the indices of those streamed requests for which host memory has no room, where `others` bytes are to be there too; with any in
 * a file, these are not. They are spread over the layers, so that the file is read while the others are computed.
 */
export function storedRequests(
  plan: WeightPlan,
  streamed: ReadonlySet<number>,
  { budget, bytes, room }: Pick<HostBuffers, 'budget' | 'bytes' | 'room'>,
  others: number,
): Set<number> {
  const sizes = [...streamed].map((index) => [index, bufferBytes(plan.requests[index]!)] as const);
  const total = sizes.reduce((sum, [, size]) => sum + size, 0);
  const stored = new Set<number>();
  if (total === 0 || total + others <= budget - bytes) return stored;
  const share = Math.max(0, room.copies) / total;
  let [seen, kept] = [0, 0];
  for (const [index, size] of sizes) {
    seen += size;
    if (kept + size <= share * seen) kept += size;
    else stored.add(index);
  }
  // The file has the others, too.
  if (stored.size === 0) stored.add(sizes.at(-1)![0]);
  return stored;
}
