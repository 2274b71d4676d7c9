// The matrices of a page that lie in host memory. They are packed on the device, a few at a time, and copied from there.

import type { Device } from '../../gpu/device.ts';
import { fillHost, readPieces } from '../../gpu/host-memory.ts';
import type { Region } from '../../gpu/tensor.ts';
import { allocateWindows, type Matrix, type MatrixWindow } from '../../kernels/matrix.ts';
import type { WeightHandle } from '../../models/weights.ts';
import { windowBytes } from './layers.ts';
import { windowRegions, type PackedRegion } from './place.ts';
import type { PlannedRequest, WeightPlan } from './plan.ts';

/** Largest bytes, and largest share of all, of the matrices that are packed at a time, if more than one is. */
const BATCH_BYTES = 64 * 2 ** 20;
const BATCH_SHARE = 1 / 32;

interface Hosted {
  index: number;
  planned: PlannedRequest;
  matrix: Matrix;
  /** Its windows in host memory. */
  windows: readonly MatrixWindow[];
}

export class HostedMatrices {
  readonly #device: Device;
  readonly #matrices: readonly Hosted[];
  /** Matrices that are being packed on the device. */
  #packing: PackedRegion[] = [];

  /** Places the requests with these indices in host memory, without their bytes. */
  constructor(
    device: Device,
    { requests }: WeightPlan,
    handles: readonly WeightHandle[],
    indices: ReadonlySet<number>,
  ) {
    this.#device = device;
    this.#matrices = [...indices].map((index) => {
      const planned = requests[index]!;
      const matrix = handles[index] as Matrix;
      const windows = planned.matrix!.windows.map(({ codes, scales, ...window }): MatrixWindow => ({
        ...window,
        codes: hostRegion(device, codes),
        scales: scales > 0 ? hostRegion(device, scales) : null,
      }));
      matrix.place({ winograd: planned.matrix!.winograd, windows });
      return { index, planned, matrix, windows };
    });
  }

  get regions(): PackedRegion[] {
    return this.#matrices.flatMap(({ matrix }) => windowRegions(matrix));
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

  /** Places matrices on the device, where `pack` fills them, and then in host memory again, with those bytes. Throws out_of_memory. */
  async fill(batch: readonly number[], pack: () => Promise<void>, isRead: boolean): Promise<void> {
    const device = this.#device;
    const matrices = this.#matrices.filter(({ index }) => batch.includes(index));
    try {
      for (const { matrix, planned } of matrices) {
        allocateWindows(device, matrix, planned.matrix!);
        this.#packing.push(...windowRegions(matrix));
      }
      await pack();
      for (const { matrix, windows } of isRead ? matrices : [])
        for (const [i, { codes, scales }] of windows.entries()) {
          const packed = matrix.windows[i]!;
          await fillHost(codes.buffer, readPieces(device, packed.codes));
          if (scales) await fillHost(scales.buffer, readPieces(device, packed.scales!));
        }
    } finally {
      for (const { region } of this.#packing.splice(0)) device.free(region.buffer);
      for (const { matrix, windows } of matrices) matrix.place({ winograd: matrix.winograd, windows });
    }
  }

  free(): void {
    for (const { windows } of this.#matrices)
      for (const { codes, scales } of windows)
        for (const region of [codes, scales]) if (region) this.#device.free(region.buffer);
  }
}

function hostRegion(device: Device, bytes: number): Region {
  const buffer = device.allocateHost('weights', bytes);
  return { buffer, offset: 0, size: buffer.size };
}
