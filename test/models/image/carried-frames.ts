// Computes clips in chunks of frames, between which layers of a page keep frames.

import { KeptFrames } from '../../../src/engine/image/stages/clip-chunks.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Tensor } from '../../../src/gpu/tensor.ts';
import type { CarriedFrames } from '../../../src/models/image/autoencoders/causal-frames.ts';
import { inOne, itemOf, type Computed, type Run, type Values } from '../image-golden.ts';

type Page = (x: Tensor, options: { carried?: CarriedFrames }) => Iterable<Tensor>;

/** Computes a clip in chunks of so many frames, each on a tape of its own. */
export async function inChunks(
  device: Device,
  run: (record: Run) => Promise<Computed>,
  { page, clip, chunks }: { page: Page; clip: Values; chunks: readonly number[] },
): Promise<Float32Array> {
  using kept = new KeptFrames(device, clip.shape[0]!);
  const made: number[] = [];
  let first = 0;
  for (const count of chunks) {
    const frames = Array.from({ length: count }, (_, i) => itemOf(clip, first + i).values);
    const chunk = {
      shape: [count, ...clip.shape.slice(1)],
      values: Float32Array.from(frames.flatMap((one) => [...one])),
    };
    const carried = kept.carried(first > 0);
    const { values } = await run((_, input) => [...page(input(chunk), { carried })]);
    made.push(...inOne(values));
    first += count;
  }
  return Float32Array.from(made);
}
