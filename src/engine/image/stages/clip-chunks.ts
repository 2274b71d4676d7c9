// The chunks in which clips are decoded and encoded, one latent frame each, and what the layers of an autoencoder carry from each to the next.
// An image is one chunk.

import type { Device } from '../../../gpu/device.ts';
import type { Tape } from '../../../gpu/tape.ts';
import { Tensor } from '../../../gpu/tensor.ts';
import { fillZeros, wholeOf } from '../../../gpu/memory.ts';
import { copyInto } from '../../../kernels/copy-rows.ts';
import type { CarriedFrames } from '../../../models/image/autoencoders/causal-frames.ts';
import type { Autoencoder } from '../blocks/autoencoder.ts';
import { allocateTensor, freeTensors } from '../recording/compute.ts';
import { Scope } from '../recording/scope.ts';

/**
 * The last frames of each layer, zeros at first, whose number does not grow with the clip; and all frames of layers that read those, as keys and
 * values of attention in the size of latents.
 */
export class KeptFrames implements Disposable {
  readonly #device: Device;
  readonly #owner: Scope;
  readonly #most: number;
  readonly #kept = new Map<number, readonly Tensor[]>();
  readonly #grown = new Map<number, { rows: Tensor; frames: number }>();
  /** For planning: tensors by their shapes, which all layers share because nothing is computed. */
  readonly #shared: Map<string, readonly Tensor[]> | null;
  #sharedBytes = 0;

  /** `most`: frames of latents of the clip; `isPlan`: layers share tensors. */
  constructor(device: Device, most: number, { isPlan = false } = {}) {
    this.#device = device;
    this.#most = most;
    this.#owner = new Scope(device);
    this.#shared = isPlan ? new Map() : null;
  }

  /** For planning: bytes that layers would have without sharing, beyond those on the device. */
  get sharedBytes(): number {
    return this.#sharedBytes;
  }

  /** What a chunk reads and writes; `continues`: whether one came before. */
  carried(continues: boolean): CarriedFrames {
    return {
      continues,
      last: (layer, frames, like) => this.#last(layer, frames, like),
      all: (layer, frame) => this.#all(layer, frame),
    };
  }

  #all(layer: number, frame: Tensor): Tensor {
    const [, height, width, columns] = frame.shape as [number, number, number, number];
    const count = height * width;
    let kept = this.#grown.get(layer);
    if (!kept) {
      const frames = this.#shared ? 1 : this.#most;
      this.#sharedBytes += (this.#most - frames) * frame.bytes({});
      this.#grown.set(layer, (kept = { rows: this.#zeros([frames * count, columns]), frames: 0 }));
    }
    const { tape, rows } = { tape: frame.tape!, rows: kept.rows };
    copyInto(frame, rows.on(tape), kept.frames * count);
    kept.frames++;
    return new Tensor([1, kept.frames * count, columns], 'f32', { region: rows.region!, tape });
  }

  #last(layer: number, frames: number, like: Tensor): Tensor[] {
    const kept = this.#kept.get(layer) ?? this.#framesOf(like.shape as number[], frames);
    this.#kept.set(layer, kept);
    return kept.map((frame) => frame.on(like.tape!));
  }

  #framesOf(shape: readonly number[], count: number): readonly Tensor[] {
    const key = [count, ...shape].join();
    const shared = this.#shared?.get(key);
    for (const { region } of shared ?? []) this.#sharedBytes += region!.size;
    const frames = shared ?? Array.from({ length: count }, () => this.#zeros(shape));
    this.#shared?.set(key, frames);
    return frames;
  }

  #zeros(shape: readonly number[]): Tensor {
    return this.#owner.hold(zeroTensor(this.#device, 'frames of a layer', shape));
  }

  [Symbol.dispose](): void {
    this.#owner[Symbol.dispose]();
  }
}

/** On paper: chunks of a clip that are recorded; all after them take the memory of the last. */
export const PAPER_CHUNKS = 3;

/** Chunks of one shape, which are decoded one after the other by one recording. */
export interface Chunks {
  count: number;
  /** Returns the latents of the chunk that was brought, on a tape, [frames, height, width, channels]. */
  on(tape: Tape): Tensor;
  /** Brings the latents of a chunk, by its number among these. */
  bring(chunk: number): void;
  /** null: nothing is carried. */
  carried: CarriedFrames | null;
}

/** The chunks of latents that are decoded: the first, and those that continue it. */
export class ClipChunks implements Disposable, Iterable<Chunks> {
  /** Latent frames that the chunks have. */
  readonly frames: number;
  readonly #device: Device;
  readonly #latents: Tensor;
  /** The latents of one chunk; null: there is one chunk. */
  readonly #frame: Tensor | null;
  readonly #kept: KeptFrames;
  readonly #recordsEach: boolean;

  /** `isPlan`: nothing is computed, and layers share what they keep; `onPaper`: nothing is computed. */
  constructor(
    device: Device,
    latents: Tensor,
    autoencoder: Pick<Autoencoder, 'framesPerLatent' | 'streams' | 'seesAllFrames'>,
    { isPlan = false, onPaper = false } = {},
  ) {
    const { framesPerLatent, streams = false, seesAllFrames = false } = autoencoder;
    const [count, ...one] = latents.shape as [number, ...number[]];
    const isCarried = framesPerLatent !== undefined && !streams && count !== 1;
    this.#device = device;
    this.#latents = latents;
    this.#frame = isCarried ? allocateTensor(device, 'latents of a chunk', [1, ...one]) : null;
    this.frames = isCarried && onPaper ? Math.min(count, PAPER_CHUNKS) : count;
    this.#kept = new KeptFrames(device, count, { isPlan });
    this.#recordsEach = seesAllFrames;
  }

  /** For planning: bytes of carried frames that are not on the device. */
  get sharedBytes(): number {
    return this.#kept.sharedBytes;
  }

  *[Symbol.iterator](): Generator<Chunks> {
    const frame = this.#frame;
    if (frame === null)
      return yield { count: 1, on: (tape) => this.#latents.on(tape), bring() {}, carried: null };
    const alone = this.#recordsEach ? this.frames : 1;
    const singles = Array.from({ length: alone }, (_, i) => [i, 1] as const);
    const others = [alone, this.frames - alone] as const;
    for (const [first, count] of [...singles, ...(others[1] > 0 ? [others] : [])]) {
      const bring = (chunk: number): void => this.#copyFrame(first + chunk, frame);
      yield { count, on: (tape) => frame.on(tape), bring, carried: this.#kept.carried(first > 0) };
    }
  }

  #copyFrame(index: number, into: Tensor): void {
    const bytes = into.bytes({});
    const [from, to] = [this.#latents.region!, into.region!];
    const encoder = this.#device.gpu.createCommandEncoder();
    encoder.copyBufferToBuffer(from.buffer, from.offset + index * bytes, to.buffer, to.offset, bytes);
    this.#device.gpu.queue.submit([encoder.finish()]);
  }

  [Symbol.dispose](): void {
    freeTensors(this.#device, [this.#frame]);
    this.#kept[Symbol.dispose]();
  }
}

/** Allocates a tensor with a buffer of its own, which holds zeros. */
export function zeroTensor(device: Device, label: string, shape: readonly number[]): Tensor {
  const tensor = allocateTensor(device, label, shape);
  fillZeros(device, [wholeOf(tensor.region!.buffer)]);
  return tensor;
}
