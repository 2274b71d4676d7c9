// A network that enlarges images of one size, in strips of as many rows as memory allows.

import { bytesText } from '../../../files/bytes-text.ts';
import { EngineError } from '../../../files/error.ts';
import { field, option, say } from '../../../files/message.ts';
import type { Device } from '../../../gpu/device.ts';
import type { Tape } from '../../../gpu/tape.ts';
import { type Tensor, tensorBytes } from '../../../gpu/tensor.ts';
import { fromPixels } from '../../../kernels/from-pixels.ts';
import { scaleShift } from '../../../kernels/scale-shift.ts';
import { toPixels } from '../../../kernels/to-pixels.ts';
import type { UpscalerPage } from '../../../models/image/upscalers/upscaler.ts';
import type { UpscalerPart } from '../../../models/image/upscalers/upscaler-part.ts';
import { pixelWords, readPixels } from '../blocks/autoencoder.ts';
import type { Pixels, Size } from '../calls/image-model.ts';
import { NotFiniteError, timesOf, type ComputeOptions } from '../recording/compute.ts';
import { Scope } from '../recording/scope.ts';
import {
  divide,
  imageTensor,
  StripRecording,
  type StripComputation,
  type Strips,
  withRows,
} from '../recording/strips.ts';
import { writeRows } from '../recording/stepper.ts';
import { roomFor, type Room } from './decoder-memory.ts';

/**
 * Most rows of features on either side of a strip. Compact networks reach no further, and give the bytes of the whole image. The blocks of an
 * RRDBNet do, ten times as far; with random weights, even such that triple a layer's values, the rows left out change 3e-6 of the largest.
 */
const MOST_OVERLAP = 72;
/** Strips begin at multiples of it, so that the tiles of convolutions lie alike. */
const ALIGNMENT = 8;
/** Fewest rows of a strip. */
const LEAST_ROWS = 16;

/** The network for images of one size, recorded once and computed for each. */
export class UpscalingNetwork implements Disposable {
  readonly #device: Device;
  readonly #options: ComputeOptions;
  readonly #scope: Scope;
  readonly #parts: readonly PlannedPart[];
  readonly #notFinite: Tensor;
  #recorded: readonly StripRecording[] = [];
  #isPlain: boolean;

  private constructor(
    device: Device,
    options: ComputeOptions,
    { scope, parts, notFinite }: { scope: Scope; parts: readonly PlannedPart[]; notFinite: Tensor },
  ) {
    this.#device = device;
    this.#options = options;
    this.#scope = scope;
    this.#parts = parts;
    this.#notFinite = notFinite;
    this.#isPlain = options.plain;
  }

  static async open(
    device: Device,
    options: ComputeOptions,
    page: UpscalerPage,
    { width, height }: Size,
  ): Promise<UpscalingNetwork> {
    using scope = new Scope(device);
    const notFinite = scope.hold(device.tensor('step', 'finite check', [1], new Uint32Array(1)));
    const image = scope.hold(imageTensor(device, [1, height, width], 'u32'));
    const parts: PlannedPart[] = [];
    // What strips of earlier parts read and give is on the device beside those of later ones.
    using windows = new Scope(device);
    for (const [i, part] of page.entries()) {
      const source = parts.at(-1)?.target ?? image;
      const computation = withPixels(part, { first: i === 0, last: i === page.length - 1, notFinite });
      const planned = await planPart(device, options, { ...computation, reach: part.reach }, source);
      const { strips, target } = planned;
      parts.push({ ...planned, target: scope.hold(target) });
      if (strips.strips.length === 1) continue;
      windows.hold(withRows(device, source, strips.height));
      windows.hold(withRows(device, target, strips.height * part.rows));
    }
    return new UpscalingNetwork(device, options, { scope: scope.move(), parts, notFinite });
  }

  /** Returns the larger image. Throws NotFiniteError if it is not finite, even in plain f32. */
  async compute(image: Pixels): Promise<Pixels> {
    const source = this.#parts[0]!.source;
    writeRows(this.#device, source, pixelWords(image));
    await this.#run();
    if (!(await this.#isFinite())) {
      if (this.#isPlain) throw new NotFiniteError();
      this.#options.onNotFinite?.('the network that enlarges images');
      this.#free();
      this.#isPlain = true;
      await this.#run();
      if (!(await this.#isFinite())) throw new NotFiniteError();
    }
    const { target } = this.#parts.at(-1)!;
    const [, height, width] = target.shape as [number, number, number];
    const data = new Uint8Array(3 * width * height);
    await readPixels(this.#device, target, data, 0);
    return { width, height, data };
  }

  async #run(): Promise<void> {
    this.#device.gpu.queue.writeBuffer(this.#notFinite.region!.buffer, 0, new Uint32Array(1));
    const options = { ...this.#options, plain: this.#isPlain };
    if (this.#recorded.length === 0) {
      const recorded: StripRecording[] = [];
      this.#recorded = recorded;
      for (const { computation, strips, ...tensors } of this.#parts)
        recorded.push(await StripRecording.open(this.#device, options, computation, tensors, strips));
    }
    for (const recording of this.#recorded) await recording.run(this.#options.signal);
    await this.#device.gpu.queue.onSubmittedWorkDone();
  }

  async #isFinite(): Promise<boolean> {
    const [raised] = new Uint32Array(await this.#device.read(this.#notFinite.region!));
    return raised === 0;
  }

  #free(): void {
    for (const recording of this.#recorded) recording[Symbol.dispose]();
    this.#recorded = [];
  }

  /** Adds the times of the kernels to the profile of the request. */
  async profile(): Promise<void> {
    await this.#options.profiler?.add(() => timesOf(this.#recorded.map(({ recording }) => recording)));
  }

  [Symbol.dispose](): void {
    this.#free();
    this.#scope[Symbol.dispose]();
  }
}

interface PlannedPart {
  computation: StripComputation;
  strips: Strips;
  source: Tensor;
  target: Tensor;
}

/** A part with the conversions of pixels before the first and after the last. */
function withPixels(
  { rows, run }: UpscalerPart,
  { first, last, notFinite }: { first: boolean; last: boolean; notFinite: Tensor },
): StripComputation {
  const record = (_: Tape, x: Tensor): Tensor => {
    const y = run(first ? fromPixels(x, { centred: false }) : x);
    return last ? toPixels(scaleShift(y, 2, -1), notFinite.region!) : y;
  };
  return { rows, record };
}

/** Chooses the largest strips for which there is room, and allocates the result. Throws out_of_memory if there is none for the smallest. */
async function planPart(
  device: Device,
  options: ComputeOptions,
  { reach, ...computation }: StripComputation & { reach: number },
  source: Tensor,
): Promise<PlannedPart> {
  const height = source.shape[1] as number;
  const overlap = roundUp(Math.min(reach, MOST_OVERLAP / Math.min(1, computation.rows)), ALIGNMENT);
  for (let rows = height; ; rows = roundUp(rows / 2, ALIGNMENT)) {
    const strips = divide(height, rows, overlap);
    const { room, target } = await roomForStrips(device, options, computation, source, strips);
    if (room.fits || options.compileOnly) return { computation, strips, source, target: target() };
    if (rows <= LEAST_ROWS) throw refusal(device, source, room);
  }
}

/** Measures the memory of strips beside that of the whole result, which `target` allocates. */
async function roomForStrips(
  device: Device,
  options: ComputeOptions,
  { rows, record }: StripComputation,
  source: Tensor,
  { height, strips }: Strips,
): Promise<{ room: Room; target(): Tensor }> {
  const isWhole = strips.length === 1;
  using window = new Scope(device);
  const x = isWhole ? source : window.hold(withRows(device, source, height));
  let shape: number[] = [];
  let dtype: Tensor['dtype'] = 'f32';
  const recordOne = (tape: Tape): Tensor[] => {
    const y = tape.keep(record(tape, x.on(tape)));
    shape = [1, (source.shape[1] as number) * rows, ...(y.shape.slice(2) as number[])];
    dtype = y.dtype;
    return [y];
  };
  const room = await roomFor(device, options, recordOne, () => (isWhole ? 0 : tensorBytes(shape, {})));
  return { room, target: () => imageTensor(device, shape, dtype) };
}

function refusal(device: Device, { shape }: Tensor, { bytes, largest }: Room): EngineError {
  const [, height, width] = shape as [number, number, number];
  const { maxBufferSize } = device.capabilities;
  const limit =
    largest > maxBufferSize
      ? say`${bytesText(largest)} in one piece, the adapter allows ${bytesText(maxBufferSize)}: draw a smaller image`
      : say`${bytesText(bytes)}, the memory budget is ${bytesText(device.memoryBudget)}: draw a smaller image, leave out ${field('enableUpscaling')}, or raise ${option('memoryBudget')}`;
  return new EngineError(
    'out_of_memory',
    say`enlarging ${width} × ${height} pixels in strips takes ${limit}`,
    {
      param: 'enableUpscaling',
    },
  );
}

export const roundUp = (value: number, multiple: number): number => Math.ceil(value / multiple) * multiple;
