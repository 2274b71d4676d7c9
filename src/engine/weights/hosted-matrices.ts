// The matrices of a page that are not on the device: in host memory, or in a file where the host has no room. They are packed on the device,
// a few at a time.

import type { Device } from '../../gpu/device.ts';
import { fillHost, readPieces } from '../../gpu/host-memory.ts';
import { allocatedBytes, type Region } from '../../gpu/tensor.ts';
import { fillZeros } from '../../gpu/memory.ts';
import { allocateWindows, type Matrix, type MatrixWindow } from '../../kernels/matrix.ts';
import type { WeightHandle } from '../../models/weights.ts';
import type { ExpertSource } from './layer-slots.ts';
import { storedRequests, windowBytes } from './layers.ts';
import { repetitions, windowRegions, type PackedRegion } from './place.ts';
import type { PlannedRequest, WeightPlan } from './plan.ts';

/** Largest bytes, and largest share of all, of the matrices that are packed at a time, if more than one is. */
const BATCH_BYTES = 64 * 2 ** 20;
const BATCH_SHARE = 1 / 32;

interface Hosted {
  index: number;
  planned: PlannedRequest;
  matrix: Matrix;
  /** Distinguishes the names of its regions. */
  mark: string;
  isStored: boolean;
  /** Its windows in host memory, or those that stand for bytes in a file. */
  windows: readonly MatrixWindow[];
}

function regionsOf({ matrix: { name }, mark, windows }: Hosted): PackedRegion[] {
  return windowRegions({ name, windows }, mark);
}

export class HostedMatrices {
  readonly #device: Device;
  readonly #matrices: readonly Hosted[] = [];
  /** Matrices that are being packed on the device. */
  #packing: PackedRegion[] = [];

  /**
   * Places the requests with these indices, without their bytes: in host memory, and if `mayStore`, in a file those for which that has no
   * room beside `kept` bytes. Throws out_of_memory; then nothing stays allocated.
   */
  constructor(
    device: Device,
    plan: WeightPlan,
    handles: readonly WeightHandle[],
    { indices, mayStore, kept }: { indices: ReadonlySet<number>; mayStore: boolean; kept: number },
  ) {
    this.#device = device;
    const stored = mayStore ? storedRequests(plan, indices, device.host, kept) : new Set<number>();
    const marks = repetitions(plan);
    const matrices: Hosted[] = [];
    this.#matrices = matrices;
    try {
      for (const index of indices) {
        const planned = plan.requests[index]!;
        const hosted = { index, planned, matrix: handles[index] as Matrix, mark: marks[index]! };
        matrices.push({ ...hosted, isStored: stored.has(index), windows: [] });
        this.#place(matrices.at(-1)!);
      }
    } catch (error) {
      this.free();
      throw error;
    }
  }

  #place(hosted: Hosted): void {
    const { planned, matrix, isStored } = hosted;
    const windows: MatrixWindow[] = [];
    hosted.windows = windows;
    for (const { codes, scales, ...window } of planned.matrix!.windows) {
      const made: MatrixWindow = { ...window, codes: this.#region(codes, isStored), scales: null };
      windows.push(made);
      if (scales > 0) made.scales = this.#region(scales, isStored);
    }
    matrix.place({ winograd: planned.matrix!.winograd, windows });
  }

  #region(bytes: number, isStored: boolean): Region {
    const { host } = this.#device;
    const buffer = isStored ? host.store('weights') : this.#device.allocateHost('weights', bytes);
    return { buffer, offset: 0, size: allocatedBytes(bytes) };
  }

  get regions(): PackedRegion[] {
    return this.#matrices.flatMap(regionsOf);
  }

  /** The matrix of a request, with its windows beside the device. */
  source(index: number): ExpertSource {
    return this.#matrices.find((hosted) => hosted.index === index)!;
  }

  /** Regions that lie in a file. */
  get stored(): PackedRegion[] {
    return this.#matrices.filter(({ isStored }) => isStored).flatMap(regionsOf);
  }

  /** For planning: nothing is read for regions that lie in a file. */
  skipReading(): void {
    const nothing = { readInto: () => Promise.resolve() };
    for (const { region } of this.stored) this.#device.host.storedAt(region.buffer, nothing);
  }

  /** Indices of the requests that are packed together. */
  get batches(): number[][] {
    const all = this.#matrices.reduce((sum, { planned }) => sum + windowBytes(planned), 0);
    const most = Math.min(BATCH_BYTES, BATCH_SHARE * all);
    const batches: number[][] = [];
    let bytes = Infinity;
    for (const { index, planned } of this.#matrices) {
      const own = windowBytes(planned);
      if (bytes + own > most) {
        batches.push([]);
        bytes = 0;
      }
      batches.at(-1)!.push(index);
      bytes += own;
    }
    return batches;
  }

  /**
   * Places matrices on the device, where `pack` fills them and their regions are yielded, and afterwards where they were before, with
   * those bytes in host memory. Throws out_of_memory.
   */
  async *fill(
    batch: readonly number[],
    pack: () => Promise<void>,
    isRead: boolean,
  ): AsyncGenerator<PackedRegion, void, void> {
    const device = this.#device;
    const matrices = this.#matrices.filter(({ index }) => batch.includes(index));
    try {
      for (const { matrix, planned, mark } of matrices) {
        fillZeros(device, allocateWindows(device, matrix, planned.matrix!));
        this.#packing.push(...windowRegions(matrix, mark));
      }
      await pack();
      for (const hosted of isRead ? matrices : []) if (!hosted.isStored) await this.#copy(hosted);
      yield* this.#packing;
    } finally {
      for (const { region } of this.#packing.splice(0)) device.free(region.buffer);
      for (const { matrix, windows } of matrices) matrix.place({ winograd: matrix.winograd, windows });
    }
  }

  /** Copies a matrix from the device to host memory. */
  async #copy({ matrix, windows }: Hosted): Promise<void> {
    const device = this.#device;
    for (const [i, { codes, scales }] of windows.entries()) {
      const packed = matrix.windows[i]!;
      await fillHost(codes.buffer, readPieces(device, packed.codes));
      if (scales) await fillHost(scales.buffer, readPieces(device, packed.scales!));
    }
  }

  free(): void {
    for (const { windows } of this.#matrices)
      for (const { codes, scales } of windows)
        for (const region of [codes, scales]) if (region) this.#device.free(region.buffer);
  }
}
