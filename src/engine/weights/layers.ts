// The layers of a page by the names of its tensors, and which of their matrices stay on the device while the others are streamed from
// host memory.

import type { PlannedRequest, WeightPlan } from './plan.ts';

/** How many of the layers' matrices stay on the device: those of the first layers, or the first that take no more than some bytes. */
export type ResidentPart = { layers: number } | { bytes: number };

/** A module of a list with modules of its own, such as `model.layers.7` in `model.layers.7.mlp.up_proj.weight`. */
const LAYER = /^(.+?\.\d+)\.[^.]+\../;

/** Returns the layer that a tensor belongs to; null: none. */
function layerOf(name: string): string | null {
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

/**
 * Returns the indices of the requests that are streamed: matrices in layers, except those that stay. Vectors, biases and matrices
 * outside of layers stay on the device.
 */
export function streamedRequests(plan: WeightPlan, resident: ResidentPart): Set<number> {
  const names = plan.requests.map(({ request }) => request.names[0]!);
  const staying = new Set(layerNames(names).slice(0, 'layers' in resident ? resident.layers : 0));
  let room = 'bytes' in resident ? resident.bytes : 0;
  const streamed = new Set<number>();
  plan.requests.forEach((planned, i) => {
    const layer = layerOf(names[i]!);
    if (planned.matrix === null || layer === null || staying.has(layer)) return;
    const bytes = windowBytes(planned);
    room -= bytes;
    if (room < 0) streamed.add(i);
  });
  return streamed;
}
