// Samples the rows of a step on the device after the forward pass. Penalties, biases and masks change the logits in place; a
// request's own function works on a copy, and so does everything if log probabilities of the unchanged logits are requested.

import { wholeOf } from '../../../gpu/memory.ts';
import type { Device } from '../../../gpu/device.ts';
import { Tape } from '../../../gpu/tape.ts';
import type { Region, Sizes, Tensor } from '../../../gpu/tensor.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import { exclude } from '../../../kernels/exclude.ts';
import { maskLogits, maskWords } from '../../../kernels/logits-mask.ts';
import { LOGPROB_WORDS, logprobs } from '../../../kernels/logprobs.ts';
import { process } from '../../../kernels/process.ts';
import { sample } from '../../../kernels/sample.ts';
import type { SampledRow } from './step-part.ts';
import { WgslProcessors } from './wgsl-processor.ts';

export interface SamplerOptions {
  slots: number;
  vocabulary: number;
  /** Log probabilities are computed after temperature and everything before it that changes logits. */
  processedLogprobs: boolean;
}

/** Number of registered processors beyond those of one step. */
const SPARE_PROCESSORS = 16;

export class Sampler {
  /** Log probabilities by sampled row; see LOGPROB_WORDS. */
  readonly logprobs: Region;
  readonly processors: WgslProcessors;
  readonly tempered: boolean;
  readonly masks: Region;
  readonly device: Device;
  readonly batch: TextBatch;
  /** Masks in host memory. */
  readonly #host: Uint32Array<ArrayBuffer>;
  /** Words of a mask. */
  readonly #words: number;

  constructor(device: Device, batch: TextBatch, { slots, vocabulary, processedLogprobs }: SamplerOptions) {
    const allocate = (label: string, bytes: number): Region => {
      return wholeOf(device.allocate('step', label, bytes));
    };
    this.device = device;
    this.batch = batch;
    this.tempered = processedLogprobs;
    this.processors = new WgslProcessors(device, slots + SPARE_PROCESSORS);
    this.#words = maskWords(vocabulary);
    this.#host = new Uint32Array(slots * this.#words);
    this.masks = allocate('token masks', 4 * this.#host.length);
    this.logprobs = allocate('log probabilities', 4 * slots * LOGPROB_WORDS);
  }

  /** Records the sampling of a forward pass. */
  record(forward: Tape, logits: Tensor): RecordedSampling {
    return new RecordedSampling(this, forward, logits);
  }

  uploadMasks(masked: readonly SampledRow[]): void {
    const words = this.#words;
    masked.forEach((row, i) => row.writeMask(this.#host.subarray(i * words, (i + 1) * words)));
    if (masked.length > 0)
      this.device.gpu.queue.writeBuffer(this.masks.buffer, 0, this.#host, 0, masked.length * words);
  }
}

/** The recorded sampling that belongs to one forward pass. */
export class RecordedSampling {
  readonly #sampler: Sampler;
  readonly #capacity: Sizes;
  /** Samples the logits as they are. */
  readonly #plain: Tape;
  /** Excludes tokens by masks before. */
  readonly #bar: Tape;
  /** Copies the logits, with all that changes them. */
  readonly #edit: Tape;
  readonly #edited: Tensor;
  /** Samples the copy. */
  readonly #draw: Tape;
  /** Tapes of requests' own functions, by their ids. */
  readonly #processing = new Map<number, Tape>();

  constructor(sampler: Sampler, forward: Tape, logits: Tensor) {
    const { batch, masks, tempered } = sampler;
    this.#sampler = sampler;
    this.#capacity = { sampled: forward.capacity['sampled']!, drawn: 1, cut: 1 };
    this.#plain = this.#tape();
    sample(this.#plain.borrow(forward, logits), batch);
    this.#plain.finish();

    this.#bar = this.#tape();
    const barred = this.#bar.borrow(forward, logits);
    exclude(barred, batch, masks);
    sample(barred, batch);
    this.#bar.finish();

    this.#edit = this.#tape();
    this.#edited = this.#edit.keep(maskLogits(this.#edit.borrow(forward, logits), batch, masks));
    this.#edit.finish();
    this.#draw = this.#tape();
    const own = this.#draw.borrow(this.#edit, this.#edited);
    sample(own, batch);
    const reported = tempered ? own : this.#draw.borrow(forward, logits);
    logprobs(reported, batch, sampler.logprobs, { tempered });
    this.#draw.finish();
  }

  /** Samples rows without masks, functions and log probabilities. */
  get plain(): Tape {
    return this.#plain;
  }

  /** Tapes to compile. */
  get tapes(): Tape[] {
    return [this.#plain, this.#bar, this.#edit, this.#draw];
  }

  /**
   * Encodes sampling for the rows of these sequences. Computes the masks of `masked` here, in the order of the step's mask numbers;
   * a sequence whose constraint has ended gets a mask that allows every token.
   */
  encode(encoder: GPUCommandEncoder, sampled: readonly SampledRow[], masked: readonly SampledRow[]): void {
    const sizes = sampledSizes(sampled);
    this.#sampler.uploadMasks(masked);
    if (!sampled.some(isEdited)) {
      (masked.length === 0 ? this.#plain : this.#bar).encode(encoder, sizes);
      return;
    }
    this.#edit.encode(encoder, sizes);
    for (const source of new Set(sampled.map(({ request }) => request.processor)))
      if (source !== null) this.#processed(source).encode(encoder, sizes);
    this.#draw.encode(encoder, sizes);
  }

  destroy(): void {
    for (const tape of [...this.tapes, ...this.#processing.values()]) tape.destroy();
  }

  #tape(): Tape {
    return new Tape(this.#sampler.device, this.#capacity);
  }

  #processed(source: string): Tape {
    const { processors, batch } = this.#sampler;
    const { name, id } = processors.of(source);
    const known = this.#processing.get(id);
    if (known) return known;
    for (const [old, tape] of this.#processing)
      if (!processors.has(old) && this.#processing.delete(old)) tape.destroy();
    const tape = this.#tape();
    process(tape.borrow(this.#edit, this.#edited), batch, { name, id });
    tape.finish();
    this.#processing.set(id, tape);
    return tape;
  }
}

/** Rows that are sampled, and whether any is above temperature 0 or cut by top-k or top-p: without one, the dispatches for it are skipped. */
function sampledSizes(sampled: readonly SampledRow[]): Sizes {
  const drawn = sampled.filter(({ request: { sampling } }) => sampling.temperature > 0);
  const isCut = drawn.some(({ request: { sampling } }) => sampling.topK > 0 || sampling.topP < 1);
  return { sampled: sampled.length, drawn: Number(drawn.length > 0), cut: Number(isCut) };
}

/** Returns true if the row's log probabilities are requested or a function of its own changes its logits. */
function isEdited({ request: { sampling, processor } }: SampledRow): boolean {
  return sampling.logprobs !== null || processor !== null;
}
