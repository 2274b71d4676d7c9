// Orders of the inputs of matrices on the device: that by which a matrix reads its inputs, and while weights are packed, the place of each input
// among a part's k's. See files/coded/input-order.ts.

import type { Device } from '../../gpu/device.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import { Matrix, type MatrixPart } from '../../kernels/matrix.ts';
import type { WeightHandle, WeightRequest } from '../../models/weights.ts';

export class InputOrders {
  readonly #device: Device;
  /** u32 [1, k] for each order of a matrix. */
  readonly #places = new Map<Matrix, Tensor[]>();

  /** Writes the orders of all matrices, which must be placed. */
  constructor(device: Device, requests: readonly WeightRequest[], handles: readonly WeightHandle[]) {
    this.#device = device;
    requests.forEach(({ orders, k }, i) => {
      const handle = handles[i];
      if (!orders || !(handle instanceof Matrix)) return;
      const { buffer, offset } = handle.order!.region!;
      orders.forEach((order, at) =>
        device.gpu.queue.writeBuffer(buffer, offset + at * order.byteLength, Uint32Array.from(order)),
      );
      this.#places.set(
        handle,
        orders.map((order, at) => this.#placesOf(order, at * k)),
      );
    });
  }

  /** The place of each input of a part among the k's of its matrix, u32 [1, k]; null: they are in order. */
  places(matrix: Matrix, { firstK = 0 }: MatrixPart): Tensor | null {
    return this.#places.get(matrix)?.[firstK / matrix.k] ?? null;
  }

  /** Frees what only packing needs. */
  free(): void {
    for (const { region } of [...this.#places.values()].flat()) this.#device.free(region!.buffer);
    this.#places.clear();
  }

  #placesOf(order: Uint32Array, first: number): Tensor {
    const places = new Uint32Array(order.length);
    order.forEach((input, place) => (places[input] = first + place));
    return this.#device.tensor('step', 'order of inputs', [1, order.length], places);
  }
}
