// A page with its weights on the device: its requests are collected, checked against the checkpoint, planned and placed. Weights are read
// in file order and packed on the GPU, or come from the cache of packed weights. Matrices of layers may lie in host memory or in that
// cache, from which tapes copy them, and all weights may leave the device and come back from copies in host memory.

import type { ConfigSource } from '../../files/checkpoint/opened-checkpoint.ts';
import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import type { Device } from '../../gpu/device.ts';
import { Matrix } from '../../kernels/matrix.ts';
import { tensorsOf, type WeightTable } from '../../models/weights.ts';
import type { PackedSlot } from '../platform/platform.ts';
import { entriesOfAll } from './check.ts';
import type { Collected } from './collect.ts';
import { collectOwn } from './collect-own.ts';
import { BesideWeights, takesSums } from './beside.ts';
import type { WeightChanges } from './change.ts';
import { refuseZeroTail, type CheckedTensor } from './damaged.ts';
import { HostCopies } from './host-copies.ts';
import { besideDevice, type BesideDevice, type HostedExperts, type HostedOptions } from './hosted-experts.ts';
import { HostedMatrices } from './hosted-matrices.ts';
import { InputOrders } from './input-orders.ts';
import { bufferBytes } from './layers.ts';
import { loadPacked, savePacked } from './packed.ts';
import { planOn } from './planned-bytes.ts';
import type { LayoutOptions } from './plan-options.ts';
import { placeWeights, type PackedRegion } from './place.ts';
import { parametersOf, type WeightPlan } from './plan.ts';
import { uploadsOf } from './pack.ts';
import { refuseBiases, spareBiases } from './spare-biases.ts';
import { StoredFile } from './stored-file.ts';
import { uploadChanged } from './merge.ts';
import type { Wanted } from './upload.ts';
import type { UnreadModules } from './unread.ts';

export interface LoadOptions {
  /** The place of the packed weights in the cache. Weights with changes are there only if some are read from it as tapes run. */
  slot?: PackedSlot | null;
  onProgress?: (bytes: number, totalBytes: number) => void;
  /** Called if the cache could not be written; the model works without it. */
  onNote?: (message: string) => void;
  /** Memory is allocated like for loading, and nothing is read: for planning, and for compiling kernels. */
  unread?: boolean;
  /** Changes that LoRAs make: merged into numbers, and beside codes. The cache holds weights without any. */
  changes?: WeightChanges;
}

type Loading = Required<Pick<LoadOptions, 'onProgress' | 'unread' | 'changes'>>;

export interface OpenOptions extends LayoutOptions, HostedOptions {
  /** Whether those for which host memory has no room are in a file; left out: they are. */
  mayStore?: boolean;
  /** Whether copies of all that is on the device are to be kept in host memory. */
  keepsCopies?: boolean;
  /** The file of the configuration, for messages; left out: config.json. */
  configSource?: ConfigSource;
}

type Tensors = ReadonlyMap<string, TensorEntry>;

/** Throws the errors that loading the page would throw about the checkpoint's tensors, before memory is allocated. */
export function openWeights<Page>(
  device: Device,
  tensors: Tensors,
  build: (weights: WeightTable) => Page,
  options: OpenOptions,
): Weights<Page> {
  const { collected, own, unread } = collectOwn(tensors, build, options.part, options.configSource);
  const plan = planOn(device, own, collected, options);
  const beside = besideDevice(plan, options);
  return new Weights(device, own, collected, { plan, unread, ...beside, options });
}

interface Declared extends BesideDevice {
  plan: WeightPlan;
  unread: UnreadModules;
  options: Pick<OpenOptions, 'mayStore' | 'keepsCopies'>;
}

export class Weights<Page> {
  readonly page: Page;
  readonly plan: WeightPlan;
  /** Modules of the checkpoint that the page does not read. */
  readonly unread: UnreadModules;
  readonly #device: Device;
  readonly #tensors: Tensors;
  readonly #collected: Collected<Page>;
  readonly #hosted: ReadonlySet<number>;
  readonly #matrices: HostedMatrices;
  readonly slots: HostedExperts;
  #regions: PackedRegion[];
  #copies: HostCopies | null = null;
  /** The file that tapes read matrices from. */
  #file: StoredFile | null = null;
  readonly #beside: BesideWeights;

  constructor(
    device: Device,
    tensors: Tensors,
    collected: Collected<Page>,
    { plan, unread, hosted, slots, options: { mayStore = true, keepsCopies = false } }: Declared,
  ) {
    this.page = collected.page;
    this.plan = plan;
    this.unread = unread;
    this.#device = device;
    this.#tensors = tensors;
    this.#collected = collected;
    this.#hosted = hosted;
    this.slots = slots;
    this.#regions = placeWeights(device, plan, collected.handles, hosted);
    try {
      const places = { indices: hosted, mayStore, kept: keepsCopies ? this.deviceBytes : 0 };
      this.#matrices = new HostedMatrices(device, plan, collected.handles, places);
    } catch (error) {
      this.leave();
      throw error;
    }
    this.#beside = new BesideWeights(device, collected, tensors);
  }

  /** Matrices to which LoRAs may add. */
  get adaptable(): Matrix[] {
    const { requests, handles } = this.#collected;
    return handles.filter((handle, i): handle is Matrix => {
      const { role } = requests[i]!;
      return handle instanceof Matrix && (role === 'linear' || role === 'embedding');
    });
  }

  /** Bytes of the weights that are on the device while they are used. */
  get deviceBytes(): number {
    return this.plan.bytes - this.#besideBytes + this.slots.bytes;
  }

  /** Bytes of the matrices that are in host memory, or in a file. */
  get #besideBytes(): number {
    return [...this.#hosted].reduce((sum, i) => sum + bufferBytes(this.plan.requests[i]!), 0);
  }

  /** Bytes of the matrices in host memory. */
  get hostBytes(): number {
    return this.#besideBytes - this.fileBytes;
  }

  /** Bytes of the matrices that tapes read from a file. */
  get fileBytes(): number {
    return this.#matrices.stored.reduce((sum, { region }) => sum + region.size, 0);
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

  /**
   * Reads and packs everything. With a slot, weights that were packed before are read from the cache. Throws bad_checkpoint; disk_full and
   * out_of_memory where weights are to be in a file and cannot be.
   */
  async load(options: LoadOptions = {}): Promise<void> {
    const { onProgress = () => {}, onNote = () => {}, changes = new Map(), unread = false } = options;
    const isStored = this.#matrices.stored.length > 0;
    const slot = changes.size > 0 && !isStored ? null : (options.slot ?? null);
    const all = [...this.#regions, ...this.#matrices.regions];
    const file = slot && (await loadPacked(this.#device, all, slot, onProgress));
    if (file) {
      this.#file = new StoredFile(this.#device, file);
      if (!isStored) await this.closeFile();
      return;
    }
    const packed = this.#packed({ onProgress, changes, unread });
    if (unread) this.#matrices.skipReading();
    else if (isStored) {
      this.#file = await StoredFile.write(this.#device, packed, this.#matrices.stored, {
        slot,
        isChanged: changes.size > 0,
      });
      return;
    }
    for await (const _ of packed) continue;
    if (slot) await savePacked(this.#device, all, slot).catch((cause: Error) => onNote(cause.message));
  }

  /** Reads and packs everything, and yields the regions while they are on the device. */
  async *#packed({ onProgress, changes, unread }: Loading): AsyncGenerator<PackedRegion, void, void> {
    const { requests } = this.#collected;
    const total = entriesOfAll(requests, this.#tensors).reduce((sum, { bytes }) => sum + bytes, 0);
    let before = 0;
    const checked: CheckedTensor[] = [];
    const load = async (indices: readonly number[]): Promise<void> => {
      const report = (done: number): void => onProgress(Math.min(before + done, total), total);
      const found = await this.#loadSome(indices, report, { changes, unread });
      before += found.reduce((sum, { entry }) => sum + entry.bytes, 0);
      checked.push(...found);
    };
    await load([...requests.keys()].filter((i) => !this.#hosted.has(i)));
    for (const batch of this.#matrices.batches) yield* this.#matrices.fill(batch, () => load(batch), !unread);
    refuseBiases(checked, spareBiases(requests, this.#tensors).values());
    refuseZeroTail(checked);
    if (changes.size > 0) await this.#beside.set(changes, { unread });
    // Biases of the matrices that were packed last are among them.
    yield* this.#regions;
  }

  /**
   * Reads tensors on the device again, with these changes in place of those that they had. After an error the weights are to be
   * freed. With `unread` only the memory is allocated, for planning.
   */
  async reload(
    names: ReadonlySet<string>,
    changes: WeightChanges,
    { unread = false }: Pick<LoadOptions, 'unread'> = {},
  ): Promise<void> {
    const merged = new Set([...names].filter((name) => this.#isMerged(name)));
    const indices = [...this.#collected.requests.entries()]
      .filter(([, request]) => tensorsOf(request).some(({ name }) => merged.has(name)))
      .map(([i]) => i);
    await this.#loadSome(indices, () => {}, { changes, unread });
    await this.#beside.set(changes, { names, unread });
  }

  /** Whether changes of all these tensors stand beside their weights, so that they may change wherever the weights are. */
  areBeside(names: ReadonlySet<string>): boolean {
    return [...names].every((name) => !this.#isMerged(name));
  }

  /** Whether changes of a tensor are merged into its weights. */
  #isMerged(name: string): boolean {
    const entry = this.#tensors.get(name);
    return entry !== undefined && takesSums(entry);
  }

  /** Reads and packs the weights of some requests, which must be on the device. */
  async #loadSome(
    indices: readonly number[],
    onProgress: (bytes: number) => void,
    { changes, unread }: Required<Pick<LoadOptions, 'changes' | 'unread'>>,
  ): Promise<CheckedTensor[]> {
    const requests = indices.map((i) => this.#collected.requests[i]!);
    const handles = indices.map((i) => this.#collected.handles[i]!);
    const orders = new InputOrders(this.#device, requests, handles);
    try {
      const uploads = uploadsOf(requests, handles, this.#tensors, orders);
      const spare = [...spareBiases(requests, this.#tensors).values()];
      const merged = new Map([...changes].filter(([name]) => this.#isMerged(name)));
      const wanted = [...uploads, ...spare.map((entry): Wanted => ({ entry, place: () => {} }))];
      return await uploadChanged(this.#device, wanted, merged, { onProgress, unread });
    } finally {
      orders.free();
    }
  }

  /**
   * Moves all that is on the device to host memory, from which `enter` brings it back; weights with a file come from there. With `unread`
   * only the memory is allocated, for planning.
   */
  async keepCopies({ unread = false }: Pick<LoadOptions, 'unread'> = {}): Promise<void> {
    if (this.fileBytes === 0) {
      this.#copies = new HostCopies(this.#device);
      await this.#copies.keep(this.#regions, !unread);
    }
    this.leave();
  }

  /** Frees the memory on the device, of which copies were kept; nothing may run before `enter`. */
  leave(): void {
    for (const { region } of this.#regions.splice(0)) this.#device.free(region.buffer);
  }

  /** Places the weights on the device again. Throws out_of_memory, and what reading a file throws. */
  async enter(): Promise<void> {
    this.#regions = placeWeights(this.#device, this.plan, this.#collected.handles, this.#hosted);
    this.#copies?.restore(this.#regions);
    await this.#file?.fill(this.#device, this.#regions);
  }

  /** Allocates slots for the experts in host memory, once their matrices are packed, or for planning. Throws out_of_memory. */
  placeSlots(): void {
    this.slots.place(this.#device, this.#matrices);
  }

  /** Frees all memory; nothing that reads the weights may run afterwards. */
  free(): void {
    this.leave();
    this.slots.free();
    this.#beside.free();
    this.#matrices.free();
    this.#copies?.free();
    void this.closeFile();
  }

  /** Closes the file that tapes read from, if there is one. */
  async closeFile(): Promise<void> {
    await this.#file?.close();
  }
}
