// A page with its weights on the device: the page is run to collect its requests, which are checked against the checkpoint, planned
// and placed. The weights are then read in file order, a few megabytes at a time, and packed on the GPU; or they come from the
// cache of packed weights.

import type { ConfigSource } from '../../files/checkpoint/opened-checkpoint.ts';
import type { TensorEntry } from '../../files/checkpoint/safetensors.ts';
import type { Device } from '../../gpu/device.ts';
import type { WeightFormat } from '../../kernels/formats.ts';
import { Matrix } from '../../kernels/matrix.ts';
import type { WeightTable } from '../../models/weights.ts';
import type { PackedSlot } from '../platform.ts';
import { checkRequests } from './check.ts';
import { collect, type Collected } from './collect.ts';
import { refuseZeroTail } from './damaged.ts';
import { InputOrders } from './input-orders.ts';
import { loadPacked, savePacked } from './packed.ts';
import { placeWeights, type PackedRegion } from './place.ts';
import { parametersOf, planWeights, type PlanOptions, type WeightPlan } from './plan.ts';
import { uploadsOf } from './pack.ts';
import { refuseBiases, spareBiases } from './spare-biases.ts';
import { uploadAll } from './upload.ts';
import type { UnreadModules } from './unread.ts';

export interface LoadOptions {
  /** The place of the packed weights in the cache. */
  slot?: PackedSlot | null;
  onProgress?: (bytes: number, totalBytes: number) => void;
  /** Called if the cache could not be written; the model works without it. */
  onNote?: (message: string) => void;
}

export interface OpenOptions {
  /** Format of the matrices that may be quantized; null: the format of the file. */
  format: WeightFormat | null;
  /** Convolutions are stored as in the file, for plain kernels. */
  plain?: boolean;
  /** The file of the configuration, for messages; left out: config.json. */
  configSource?: ConfigSource;
}

type Tensors = ReadonlyMap<string, TensorEntry>;

/** Minimum ratio of the budget to the checkpoint's size. Free memory is not considered, so that equal runs make equal choices. */
const WINOGRAD_ROOM = 8;

/** Returns the plan options for a device. `storedBytes`: size of the checkpoint. */
export function planOptionsOf(
  device: Device,
  storedBytes: number,
  { format, plain }: OpenOptions,
): PlanOptions {
  // Winograd's form takes seven bytes per weight, three and a half times those of 16-bit weights. It is faster where a
  // multiplication costs more than moving its operands, which the adapter's profile states. It is not used with a quantization,
  // which is chosen to save memory.
  const winograd =
    !plain &&
    device.profile.winograd &&
    format?.packing !== 'quantise' &&
    WINOGRAD_ROOM * storedBytes <= device.memoryBudget;
  return { format, bindingLimit: device.capabilities.bindingLimit, winograd };
}

/** Throws the errors that loading the page would throw about the checkpoint's tensors, before memory is allocated. */
export function openWeights<Page>(
  device: Device,
  tensors: Tensors,
  build: (weights: WeightTable) => Page,
  options: OpenOptions,
): Weights<Page> {
  const collected = collect(tensors, build);
  const unread = checkRequests(collected, tensors, options.configSource);
  const storedBytes = [...tensors.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  const plan = planWeights(
    collected.requests,
    (name) => tensors.get(name)!.dtype,
    planOptionsOf(device, storedBytes, options),
  );
  return new Weights(device, tensors, collected, plan, unread);
}

export class Weights<Page> {
  readonly page: Page;
  readonly plan: WeightPlan;
  /** Modules of the checkpoint that the page does not read. */
  readonly unread: UnreadModules;
  readonly #device: Device;
  readonly #tensors: Tensors;
  readonly #collected: Collected<Page>;
  readonly #regions: PackedRegion[];

  constructor(
    device: Device,
    tensors: Tensors,
    collected: Collected<Page>,
    plan: WeightPlan,
    unread: UnreadModules,
  ) {
    this.page = collected.page;
    this.plan = plan;
    this.unread = unread;
    this.#device = device;
    this.#tensors = tensors;
    this.#collected = collected;
    this.#regions = placeWeights(device, plan, collected.handles);
  }

  /** Matrices to which LoRA adapters may add. */
  get adaptable(): Matrix[] {
    const { requests, handles } = this.#collected;
    return handles.filter((handle, i): handle is Matrix => {
      const { role } = requests[i]!;
      return handle instanceof Matrix && (role === 'linear' || role === 'embedding');
    });
  }

  /** Number of elements in all tensors that the page reads. */
  get parameters(): number {
    return parametersOf(this.#collected.requests);
  }

  /** Names of the formats of all matrices, without repetitions. */
  get formats(): string[] {
    const spans = this.plan.requests.flatMap(({ matrix }) => matrix?.spans ?? []);
    return [...new Set(spans.map(({ format }) => format.name))];
  }

  /** Reads and packs everything. With a slot, weights that were packed before are read from the cache. Throws bad_checkpoint. */
  async load({ slot = null, onProgress = () => {}, onNote = () => {} }: LoadOptions = {}): Promise<void> {
    const { requests, handles } = this.#collected;
    if (slot && (await loadPacked(this.#device, this.#regions, slot, onProgress))) return;
    const orders = new InputOrders(this.#device, requests, handles);
    try {
      const uploads = uploadsOf(this.#device, requests, handles, this.#tensors, orders);
      const spare = spareBiases(requests, this.#tensors);
      const unplaced = spare.map((entry) => ({ entry, place: () => {} }));
      const checked = await uploadAll(this.#device, [...uploads, ...unplaced], onProgress);
      refuseBiases(checked, new Set(spare.map(({ name }) => name)));
      refuseZeroTail(checked);
    } finally {
      orders.free();
    }
    if (slot)
      await savePacked(this.#device, this.#regions, slot).catch((cause: Error) => onNote(cause.message));
  }

  /** Frees all memory; nothing that reads the weights may run afterwards. */
  free(): void {
    for (const { region } of this.#regions) this.#device.free(region.buffer);
  }
}
