// A computation of images in strips of rows, each with as many rows around it as its result depends on: it is recorded once for the
// height of a strip and replayed for each.

import { wholeOf } from '../../../gpu/memory.ts';
import type { Device } from '../../../gpu/device.ts';
import type { Tape } from '../../../gpu/tape.ts';
import { Tensor, tensorBytes } from '../../../gpu/tensor.ts';
import { recordTape, type ComputeOptions, type Recording } from './compute.ts';
import { Scope } from './scope.ts';

/** Rows [first, last) of an image that a strip computes, from the rows that begin at `from`. */
export interface Strip {
  first: number;
  last: number;
  from: number;
}

export interface Strips {
  /** Rows that each strip reads. */
  height: number;
  strips: readonly Strip[];
}

/** Divides `height` rows into strips of `rows`, with `overlap` more on each side, or more on one side at the edges. */
export function divide(height: number, rows: number, overlap: number): Strips {
  if (rows >= height) return { height, strips: [{ first: 0, last: height, from: 0 }] };
  const read = Math.min(height, rows + 2 * overlap);
  const strips = Array.from({ length: Math.ceil(height / rows) }, (_, i): Strip => {
    const first = i * rows;
    const from = Math.max(0, Math.min(first - overlap, height - read));
    return { first, last: Math.min(height, first + rows), from };
  });
  return { height: read, strips };
}

/** Computes images [1, height, width, …] from such. */
export interface StripComputation {
  /** Rows of the result for each row of the source. */
  rows: number;
  record(tape: Tape, x: Tensor): Tensor;
}

/** A whole image on the device, and what becomes of it. */
export interface StripTensors {
  source: Tensor;
  target: Tensor;
}

export class StripRecording implements Disposable {
  readonly #device: Device;
  readonly #recording: Recording;
  readonly #owner: Scope;
  readonly #copies: readonly StripCopies[];

  private constructor(device: Device, recording: Recording, owner: Scope, copies: readonly StripCopies[]) {
    this.#device = device;
    this.#recording = recording;
    this.#owner = owner;
    this.#copies = copies;
  }

  static async open(
    device: Device,
    options: ComputeOptions,
    { rows, record }: StripComputation,
    { source, target }: StripTensors,
    { height, strips }: Strips,
  ): Promise<StripRecording> {
    using owner = new Scope(device);
    const isWhole = strips.length === 1;
    const own = (like: Tensor, count: number): Tensor =>
      isWhole ? like : owner.hold(withRows(device, like, count));
    const x = own(source, height);
    const y = own(target, height * rows);
    const recording = owner.use(await recordTape(device, options, (tape) => [record(tape, x.on(tape))], [y]));
    const copies = strips.map(({ first, last, from }): StripCopies => {
      if (isWhole) return null;
      return {
        before: copyRows(source, from, x, 0, height),
        after: copyRows(y, (first - from) * rows, target, first * rows, (last - first) * rows),
      };
    });
    return new StripRecording(device, recording, owner.move(), copies);
  }

  /** Computes all strips. Throws cancelled when `signal` aborts. */
  async run(signal: AbortSignal | undefined): Promise<void> {
    for (const copies of this.#copies) {
      if (copies) submit(this.#device, copies.before);
      await this.#recording.runUnless(signal);
      if (copies) submit(this.#device, copies.after);
    }
  }

  /** The recording, for the times of its kernels. */
  get recording(): Recording {
    return this.#recording;
  }

  [Symbol.dispose](): void {
    this.#owner[Symbol.dispose]();
  }
}

type Copy = (encoder: GPUCommandEncoder) => void;

/** Copies of a strip's rows before and after it is computed; null: it is the whole image. */
type StripCopies = { before: Copy; after: Copy } | null;

function submit(device: Device, copy: Copy): void {
  const encoder = device.gpu.createCommandEncoder();
  copy(encoder);
  device.gpu.queue.submit([encoder.finish()]);
}

/** A tensor like another with so many rows of the image. */
export function withRows(device: Device, like: Tensor, rows: number): Tensor {
  const [batch, , ...others] = like.shape as number[];
  return imageTensor(device, [batch!, rows, ...others], like.dtype);
}

export function imageTensor(device: Device, shape: readonly number[], dtype: Tensor['dtype']): Tensor {
  const buffer = device.allocate('step', 'strip of an image', tensorBytes(shape, {}));
  return new Tensor(shape, dtype, { region: wholeOf(buffer) });
}

/** Bytes of a row of an image: words [1, height, width], or channels [1, height, width, channels]. */
function rowBytes({ shape, stride }: Tensor): number {
  return 4 * stride * (shape.length === 4 ? (shape[2] as number) : 1);
}

function copyRows(source: Tensor, from: number, target: Tensor, to: number, count: number): Copy {
  const bytes = rowBytes(source);
  return (encoder) =>
    encoder.copyBufferToBuffer(
      source.region!.buffer,
      from * bytes,
      target.region!.buffer,
      to * bytes,
      count * bytes,
    );
}
