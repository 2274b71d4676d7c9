// Computes clips in chunks of frames, between which layers of a page keep frames.

import { freeTensors } from '../../../src/engine/image/recording/compute.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Tensor } from '../../../src/gpu/tensor.ts';
import type { CarriedFrames } from '../../../src/models/image/autoencoders/causal-frames.ts';
import { inOne, itemOf, type Computed, type Run, type Values } from '../image-golden.ts';

type Page = (x: Tensor, options: { carried?: CarriedFrames }) => Iterable<Tensor>;

/** Frames that layers keep, in zeroed tensors of their own. */
class KeptFrames implements CarriedFrames {
  continues = false;
  readonly #device: Device;
  readonly #kept = new Map<number, Tensor[]>();

  constructor(device: Device) {
    this.#device = device;
  }

  last(layer: number, count: number, like: Tensor): Tensor[] {
    const shape = like.shape as number[];
    const size = shape.reduce((product, extent) => product * extent, 1);
    const made = () => this.#device.tensor('step', 'kept', shape, new Float32Array(size));
    const kept = this.#kept.get(layer) ?? Array.from({ length: count }, made);
    this.#kept.set(layer, kept);
    return kept.map((frame) => frame.on(like.tape!));
  }

  free(): void {
    freeTensors(this.#device, [...this.#kept.values()].flat());
  }
}

/** Computes a clip in chunks of so many frames, each on a tape of its own. */
export async function inChunks(
  device: Device,
  run: (record: Run) => Promise<Computed>,
  { page, clip, chunks }: { page: Page; clip: Values; chunks: readonly number[] },
): Promise<Float32Array> {
  const carried = new KeptFrames(device);
  const made: number[] = [];
  let first = 0;
  for (const count of chunks) {
    const frames = Array.from({ length: count }, (_, i) => itemOf(clip, first + i).values);
    const chunk = {
      shape: [count, ...clip.shape.slice(1)],
      values: Float32Array.from(frames.flatMap((one) => [...one])),
    };
    const { values } = await run((_, input) => [...page(input(chunk), { carried })]);
    made.push(...inOne(values));
    carried.continues = true;
    first += count;
  }
  carried.free();
  return Float32Array.from(made);
}
