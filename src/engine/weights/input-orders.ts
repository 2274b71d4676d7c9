// Inputs of a matrix in the order of their groups. GPTQ's act-order quantizes inputs by falling importance, so that those of one group lie
// apart, and g_idx has the group of each. The matrix keeps its k's group by group, and activations are put into that order before it.

import { EngineError } from '../../files/error.ts';
import type { TensorEntry } from '../../files/checkpoint/safetensors.ts';
import type { Device } from '../../gpu/device.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import type { WeightHandle, WeightRequest } from '../../models/weights.ts';
import type { TensorHeaders } from './check.ts';

type Tensors = ReadonlyMap<string, TensorEntry>;

/** Whether a tensor's inputs are in another order than their groups, by its name. */
export function orderedIn(tensors: TensorHeaders): (name: string) => boolean {
  return (name) => tensors.get(name)?.coded?.isOrdered ?? false;
}

export class InputOrders {
  readonly #device: Device;
  readonly #places = new Map<Matrix, Tensor>();

  constructor(device: Device) {
    this.#device = device;
  }

  /** Reads the orders of all matrices and writes them to the device. Throws bad_checkpoint for groups of other sizes, unsupported. */
  static async read(
    device: Device,
    requests: readonly WeightRequest[],
    handles: readonly WeightHandle[],
    tensors: Tensors,
  ): Promise<InputOrders> {
    const orders = new InputOrders(device);
    try {
      for (const [i, request] of requests.entries()) await orders.#add(request, handles[i]!, tensors);
      return orders;
    } catch (error) {
      orders.free();
      throw error;
    }
  }

  /** The place of each input among a matrix's k's, u32 [1, k]; null: they are in order. */
  places(matrix: Matrix): Tensor | null {
    return this.#places.get(matrix) ?? null;
  }

  /** Frees what only packing needs. */
  free(): void {
    for (const { region } of this.#places.values()) this.#device.free(region!.buffer);
    this.#places.clear();
  }

  async #add({ names, k }: WeightRequest, handle: WeightHandle, tensors: Tensors): Promise<void> {
    const entries = names.map((name) => tensors.get(name)!);
    const orders = await Promise.all(entries.map((entry) => orderOf(entry, k)));
    const [order] = orders;
    const other = orders.findIndex((each) => each?.join() !== order?.join());
    if (other > 0) throw apart(entries[0]!, entries[other]!);
    const { order: planned } = handle as Matrix;
    if (!order || !planned) return;
    const bytes = new Uint8Array(order.buffer);
    this.#device.gpu.queue.writeBuffer(planned.region!.buffer, planned.region!.offset, bytes);
    const places = new Uint32Array(k);
    order.forEach((input, place) => (places[input] = place));
    this.#places.set(handle as Matrix, this.#device.tensor('step', 'order of inputs', [1, k], places));
  }
}

/** Inputs group by group; null: a tensor's inputs are so. Throws bad_checkpoint. */
async function orderOf({ coded, name }: TensorEntry, k: number): Promise<Uint32Array<ArrayBuffer> | null> {
  if (!coded?.groupOf) return null;
  const { groupOf, groupKs, isOrdered } = coded;
  const bytes = await groupOf.source.read(groupOf.offset, groupOf.bytes);
  const groups = new Int32Array(bytes.slice().buffer);
  const next = Array.from({ length: Math.ceil(k / groupKs) }, (_, group) => group * groupKs);
  const order = new Uint32Array(k);
  groups.forEach((group, input) => {
    const place = next[group];
    if (place === undefined)
      throw wrong(groupOf, `puts input ${input} into group ${group}, and there are ${next.length} groups`);
    if (place >= Math.min((group + 1) * groupKs, k))
      throw wrong(groupOf, `puts more inputs into group ${group} than the ${groupKs} of a group`);
    order[place] = input;
    next[group] = place + 1;
  });
  if (isOrdered) return order;
  const moved = order.findIndex((input, place) => input !== place);
  if (moved < 0) return null;
  throw wrong(
    groupOf,
    `has inputs out of the order of their groups from input ${moved} on, and ${name} was not quantized so by the settings (desc_act)`,
  );
}

function wrong({ name, source }: TensorEntry, problem: string): EngineError {
  return new EngineError(
    'bad_checkpoint',
    `tensor ${name} of ${source.name} ${problem}: take the checkpoint from where it was published`,
    { param: name },
  );
}

function apart(first: TensorEntry, other: TensorEntry): EngineError {
  return new EngineError(
    'unsupported',
    `${first.name} and ${other.name} are computed together, and their inputs are in different orders (g_idx): choose another quantized checkpoint`,
    { param: other.name },
  );
}
