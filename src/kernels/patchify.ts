// Converts images to sequences of square patches, and back.

import { tapeOf, type Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { fits, imageShape, mostPixels, view, type Pixels } from './pixels.ts';
import { walkers } from './walkers.ts';

export interface Patches {
  /** Side of a patch in pixels. */
  size: number;
  /** Order within a patch: pixel by pixel (rows p, columns q, channels c), or channel by channel. */
  order: 'pqc' | 'cpq';
}

/** x [items, height, width, channels] → [items, height / size · width / size, size² · channels] */
export function patchify(x: Tensor, patches: Patches): Tensor {
  const [items, height, width, channels] = x.shape as number[];
  const { size } = patches;
  if (x.shape.length !== 4 || height! % size !== 0 || width! % size !== 0)
    throw new Error(`patchify: [${x.shape.join(', ')}] in patches of ${size}, which must cover an image`);
  const y = tapeOf(x).tensor([items!, (height! * width!) / size ** 2, size ** 2 * channels!]);
  record(x, y, { image: x, sequence: y, patches });
  return y;
}

/**
 * x [items, tokens, size² · n], whose first tokens are the patches → [items, height, width, channels], the first of n channels; `channels`
 * left out: all of them
 */
export function unpatchify(
  x: Tensor,
  patches: Patches & { height: number; width: number; channels?: number },
): Tensor {
  const [items, tokens] = x.shape as number[];
  const { size, height, width } = patches;
  const all = x.columns / size ** 2;
  const { channels = all } = patches;
  if (
    x.shape.length !== 3 ||
    tokens! * size ** 2 < height * width ||
    !Number.isInteger(all) ||
    channels > all
  )
    throw new Error(`unpatchify: [${x.shape.join(', ')}] to ${width} × ${height} in patches of ${size}`);
  const y = tapeOf(x).tensor([items!, height, width, channels]);
  record(x, y, { image: y, sequence: x, patches });
  return y;
}

interface Both {
  image: Tensor;
  sequence: Tensor;
  patches: Patches;
}

function record(x: Tensor, y: Tensor, both: Both): void {
  const tape = tapeOf(x);
  const { image, sequence, patches } = both;
  const [, height, width, channels] = image.shape as number[];
  const { size, order } = patches;
  for (const { pixels, tokens } of bandsOf(tape, both)) {
    const [ofImage, ofSequence] = [view(tape, image, pixels), view(tape, sequence, tokens)];
    const toPatches = y === sequence;
    const { first, last } = toPatches ? tokens : pixels;
    const [from, to] = toPatches ? [ofImage, ofSequence] : [ofSequence, ofImage];
    tape.dispatch('patchify.wgsl', {
      params: { TO_PATCHES: toPatches, PIXELS_FIRST: order === 'pqc' },
      args: {
        height: height!,
        width: width!,
        channels: sequence.columns / size ** 2,
        image_channels: channels!,
        size,
        tokens: sequence.shape[1] as number,
        first,
        rows: last - first,
        image_first: ofImage.first,
        sequence_first: ofSequence.first,
        image_stride: image.stride,
        patch_stride: sequence.stride,
      },
      bind: { x: from.operand, y: to.operand },
      groups: () => walkers(tape, (last - first) * y.stride),
    });
  }
}

/** Rows of the image and of the sequence with the same patches. */
interface Band {
  pixels: Pixels;
  tokens: Pixels;
}

/** All of both, or whole rows of patches that fit a binding. */
function bandsOf(tape: Tape, { image, sequence, patches: { size } }: Both): Band[] {
  const [items, height, width] = imageShape(image);
  const perItem = sequence.shape[1] as number;
  if (fits(tape, image) && fits(tape, sequence))
    return [
      { pixels: { first: 0, last: items * height * width }, tokens: { first: 0, last: items * perItem } },
    ];
  const [down, across] = [height / size, width / size];
  const most = Math.floor(
    Math.min(mostPixels(tape, image) / (size * width), mostPixels(tape, sequence) / across),
  );
  if (most < 1)
    throw new Error(`patchify: a row of patches of [${image.shape.join(', ')}] exceeds one binding`);
  const bands: Band[] = [];
  for (let item = 0; item < items; item++) {
    for (let top = 0; top < down; top += most) {
      const end = Math.min(top + most, down);
      const pixel = (row: number): number => (item * height + row * size) * width;
      const token = (row: number): number => item * perItem + row * across;
      bands.push({
        pixels: { first: pixel(top), last: pixel(end) },
        tokens: { first: token(top), last: token(end) },
      });
    }
  }
  return bands;
}
