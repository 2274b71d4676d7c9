// Experts in host memory: those of the first layers of a page, of which the device has some in slots.

import type { Device } from '../../gpu/device.ts';
import type { HostedMatrices } from './hosted-matrices.ts';
import { bufferBytes, layerNames, layerOf, streamedRequests, type ResidentPart } from './layers.ts';
import { LayerSlots, type SlotCounters } from './layer-slots.ts';
import type { WeightPlan } from './plan.ts';

/** How many of the first layers have their experts in host memory, and slots on the device for so many of each. */
export interface HostedPart {
  layers: number;
  slots: number;
}

/** What is beside the device. */
export interface HostedOptions {
  /** Matrices of layers are in host memory, except these; left out: none is. */
  streamed?: ResidentPart | undefined;
  /** Experts are in host memory, and some of them in slots on the device; left out: none are. */
  experts?: HostedPart | undefined;
}

export interface BesideDevice {
  /** Indices of the requests whose matrices are in host memory, or in a file. */
  hosted: ReadonlySet<number>;
  slots: HostedExperts;
}

/** Returns which matrices are beside the device, and the slots for those that are experts. */
export function besideDevice(
  plan: WeightPlan,
  { streamed, experts = { layers: 0, slots: 0 } }: HostedOptions,
): BesideDevice {
  const layers = expertRequests(plan, experts.layers);
  const inSlots = new Set(layers.hosted.flat());
  const others = streamed ? streamedRequests(plan, streamed, inSlots) : [];
  const hosted = new Set([...others, ...inSlots].sort((a, b) => a - b));
  return { hosted, slots: new HostedExperts(plan, layers, experts.slots) };
}

/** Experts in slots on the device, for metrics. */
export interface SlotMetrics extends SlotCounters {
  /** Layers whose experts are in host memory. */
  layers: number;
  /** Slots of such a layer. */
  slots: number;
  /** Experts of such a layer. */
  experts: number;
}

/**
 * Returns the indices of the requests of experts in the first layers, layer by layer. Experts that are stored in several formats stay on the
 * device, because a slot takes any of them; `kept` counts their layers.
 */
export function expertRequests(plan: WeightPlan, layers: number): { hosted: number[][]; kept: number } {
  const names = plan.requests.map(({ request }) => request.names[0]!);
  const all = layerNames(names)
    .slice(0, layers)
    .map((layer) =>
      names.flatMap((name, i) =>
        plan.requests[i]!.request.role === 'expert' && layerOf(name) === layer ? [i] : [],
      ),
    )
    .filter((indices) => indices.length > 0);
  const hosted = all.filter((indices) => indices.every((i) => hasSlots(plan, i)));
  return { hosted, kept: all.length - hosted.length };
}

function hasSlots({ requests }: WeightPlan, index: number): boolean {
  const { request, matrix } = requests[index]!;
  return request.experts > 1 && new Set(matrix!.windows.map(({ format }) => format)).size === 1;
}

export class HostedExperts {
  readonly #layers: readonly (readonly number[])[];
  readonly #slots: number;
  readonly #experts: number;
  readonly #counters: SlotCounters = { hits: 0, misses: 0, bytes: 0 };
  /** Bytes of all experts that have slots, which are in host memory or in a file. */
  readonly besideBytes: number;
  #placed: LayerSlots[] = [];

  /** Layers of those asked for whose experts stay on the device, because they are stored in several formats. */
  readonly kept: number;

  /** `slots`: of each layer. */
  constructor(plan: WeightPlan, { hosted: layers, kept }: ReturnType<typeof expertRequests>, slots: number) {
    this.#layers = layers;
    this.kept = kept;
    this.besideBytes = layers.flat().reduce((sum, i) => sum + bufferBytes(plan.requests[i]!), 0);
    this.#experts = layers.length > 0 ? plan.requests[layers[0]![0]!]!.request.experts : 0;
    this.#slots = Math.min(slots, this.#experts);
  }

  /** Allocates the slots, empty ones, and places the matrices there, which are packed already. Throws out_of_memory. */
  place(device: Device, matrices: Pick<HostedMatrices, 'source'>): void {
    for (const indices of this.#layers) {
      const sources = indices.map((index) => matrices.source(index));
      this.#placed.push(new LayerSlots(device, this.#slots, sources, this.#counters));
    }
  }

  /** Bytes on the device. */
  get bytes(): number {
    return this.#placed.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** null: all experts are on the device. */
  get metrics(): SlotMetrics | null {
    if (this.#layers.length === 0) return null;
    const sizes = { layers: this.#layers.length, slots: this.#slots, experts: this.#experts };
    return { ...sizes, ...this.#counters };
  }

  free(): void {
    for (const slots of this.#placed.splice(0)) slots.free();
  }
}
