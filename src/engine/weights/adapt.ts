// LoRAs on the device: each matrix to which a LoRA adds has one buffer with the factors of all adapters. A change
// creates new buffers; steps that were submitted before use the old ones.

import { EngineError } from '../../files/error.ts';
import type { LoraFile } from '../../files/checkpoint/lora.ts';
import type { Device } from '../../gpu/device.ts';
import type { Region } from '../../gpu/tensor.ts';
import { fillZeros, wholeOf } from '../../gpu/memory.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import {
  factorUploads,
  headOf,
  headQuads,
  placeModules,
  rankOf,
  type Block,
  type LoraKey,
} from './lora-blocks.ts';
import { uploadAll, type Wanted } from './upload.ts';

export type { LoraKey } from './lora-blocks.ts';

/** The next buffer of a matrix, not in use yet. */
interface Rebuilt {
  matrix: Matrix;
  /** null: no LoRA adds to the matrix. */
  region: Region | null;
  blocks: Map<LoraKey, Block>;
}

export class LoraStore {
  readonly #device: Device;
  readonly #matrices: readonly Matrix[];
  readonly #blocks: Map<Matrix, Map<LoraKey, Block>>;
  #keys: readonly LoraKey[] = [];

  /** `matrices`: the matrices to which LoRAs may add. */
  constructor(device: Device, matrices: readonly Matrix[]) {
    this.#device = device;
    this.#matrices = matrices;
    this.#blocks = new Map(matrices.map((matrix) => [matrix, new Map()]));
  }

  /** LoRAs in the order of their numbers. */
  get keys(): readonly LoraKey[] {
    return this.#keys;
  }

  /**
   * Reads a LoRA's factors, unless they are `unread` for planning; `commit` then puts them to use at once. Throws bad_checkpoint, unsupported,
   * out_of_memory.
   */
  async prepare(
    key: LoraKey,
    file: LoraFile,
    { unread = false }: { unread?: boolean } = {},
  ): Promise<{ commit(): void }> {
    const placed = placeModules(this.#matrices, file);
    const wanted = [...this.#keys, key];
    const bytes = [...placed].reduce((sum, [, block]) => sum + 16 * block.quads, 0);
    await this.#device.reserve(this.#device.memoryUsed + 2 * bytes);
    const built: Rebuilt[] = [];
    try {
      const uploads: Wanted[] = [];
      for (const matrix of this.#matrices) {
        const block = placed.get(matrix);
        const made = this.#rebuild(matrix, wanted, new Map(block ? [[key, block]] : []));
        built.push(made);
        if (block && !unread)
          uploads.push(...factorUploads(matrix, made.region!, made.blocks.get(key)!, block.modules));
      }
      await uploadAll(this.#device, uploads, () => {});
    } catch (error) {
      this.#discard(built);
      throw error;
    }
    return { commit: () => this.#commit(built, wanted) };
  }

  /** Removes a LoRA. Throws out_of_memory; then the LoRA stays. */
  remove(key: LoraKey): void {
    const wanted = this.#keys.filter((other) => other !== key);
    const built: Rebuilt[] = [];
    try {
      for (const matrix of this.#matrices) built.push(this.#rebuild(matrix, wanted, new Map()));
    } catch (error) {
      this.#discard(built);
      throw error;
    }
    this.#commit(built, wanted);
  }

  /** Allocates a buffer for the blocks of `wanted`. The blocks in `added` are filled later, the others are copied. */
  #rebuild(matrix: Matrix, wanted: readonly LoraKey[], added: ReadonlyMap<LoraKey, Block>): Rebuilt {
    const old = this.#blocks.get(matrix)!;
    const blocks = new Map<LoraKey, Block>();
    let quads = headQuads(wanted.length, matrix.parts.length);
    for (const key of wanted) {
      const block = added.get(key) ?? old.get(key);
      if (!block) continue;
      blocks.set(key, { ...block, first: quads });
      quads += block.quads;
    }
    if (blocks.size === 0) return { matrix, region: null, blocks };
    const region = allocate(this.#device, matrix, quads);
    this.#device.gpu.queue.writeBuffer(region.buffer, 0, headOf(matrix, wanted, blocks));
    const copied = [...blocks].filter(([key]) => !added.has(key));
    if (matrix.lora)
      copyBlocks(
        this.#device,
        matrix.lora.region,
        region,
        copied.map(([key, to]) => [old.get(key)!, to]),
      );
    return { matrix, region, blocks };
  }

  #commit(built: readonly Rebuilt[], keys: readonly LoraKey[]): void {
    for (const { matrix, region, blocks } of built) {
      if (matrix.lora) this.#device.free(matrix.lora.region.buffer);
      matrix.lora = region && { region, rank: rankOf(blocks) };
      this.#blocks.set(matrix, blocks);
    }
    this.#keys = keys;
    keys.forEach((key, number) => (key.number = number));
  }

  #discard(built: readonly Rebuilt[]): void {
    for (const { region } of built) if (region) this.#device.free(region.buffer);
  }
}

function allocate(device: Device, { parts }: Matrix, quads: number): Region {
  const limit = device.capabilities.bindingLimit;
  if (16 * quads > limit) {
    throw new EngineError(
      'out_of_memory',
      `the adapters of ${parts[0]!.name} need ${16 * quads} bytes, this adapter binds ${limit}: unload some, or choose lower ranks`,
      { param: 'lora' },
    );
  }
  const region = wholeOf(device.allocate('weights', `adapters of ${parts[0]!.name}`, 16 * quads));
  fillZeros(device, [region]); // padding must be zero
  return region;
}

function copyBlocks(
  device: Device,
  from: Region,
  to: Region,
  blocks: readonly (readonly [Block, Block])[],
): void {
  const encoder = device.gpu.createCommandEncoder();
  for (const [old, { first, quads }] of blocks)
    encoder.copyBufferToBuffer(from.buffer, 16 * old.first, to.buffer, 16 * first, 16 * quads);
  device.gpu.queue.submit([encoder.finish()]);
}
