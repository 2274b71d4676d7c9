// Samples the rows of a step on the device after the forward pass. Penalties, biases and masks change the logits in place; a
// request's own function works on a copy, and so does everything if log probabilities of the unchanged logits are requested.

import type { Device } from '../../../gpu/device.ts';
import { Tape } from '../../../gpu/tape.ts';
import type { Region, Sizes, Tensor } from '../../../gpu/tensor.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import { exclude } from '../../../kernels/exclude.ts';
import { maskLogits, maskWords } from '../../../kernels/logits-mask.ts';
import { LOGPROB_WORDS, logprobs } from '../../../kernels/logprobs.ts';
import { process } from '../../../kernels/process.ts';
import { sample } from '../../../kernels/sample.ts';
import type { StepSequence } from './step-part.ts';
import { createWgslProcessors, type WgslProcessors } from './wgsl-processor.ts';

export interface Sampler {
  /** Log probabilities by sampled row; see LOGPROB_WORDS. */
  readonly logprobs: Region;
  readonly processors: WgslProcessors;
  /** Records the sampling of a forward pass. */
  record(forward: Tape, logits: Tensor): Drawing;
}

/** The recorded sampling that belongs to one forward pass. */
export interface Drawing {
  /** Tapes to compile. */
  tapes: Tape[];
  /**
   * Encodes sampling for the rows of these sequences. Computes the masks of `masked` here, in the order of the step's mask numbers;
   * a sequence whose constraint has ended gets a mask that allows every token.
   */
  encode(encoder: GPUCommandEncoder, sampled: readonly StepSequence[], masked: readonly StepSequence[]): void;
  destroy(): void;
}

export interface SamplerOptions {
  slots: number;
  vocabulary: number;
  /** Log probabilities are computed after temperature and everything before it that changes logits. */
  processedLogprobs: boolean;
}

/** Number of registered processors beyond those of one step. */
const SPARE_PROCESSORS = 16;

export function createSampler(device: Device, batch: TextBatch, options: SamplerOptions): Sampler {
  const { slots, vocabulary, processedLogprobs: tempered } = options;
  const words = maskWords(vocabulary);
  const processors = createWgslProcessors(device, slots + SPARE_PROCESSORS);
  const host = new Uint32Array(slots * words);
  const allocate = (label: string, bytes: number): Region => {
    const buffer = device.allocate('step', label, bytes);
    return { buffer, offset: 0, size: buffer.size };
  };
  const masks = allocate('token masks', 4 * host.length);
  const results = allocate('log probabilities', 4 * slots * LOGPROB_WORDS);

  const uploadMasks = (masked: readonly StepSequence[]): void => {
    masked.forEach((sequence, i) => sequence.writeMask(host.subarray(i * words, (i + 1) * words)));
    if (masked.length > 0) device.gpu.queue.writeBuffer(masks.buffer, 0, host, 0, masked.length * words);
  };

  return {
    logprobs: results,
    processors,
    record(forward, logits) {
      const rows = forward.capacity['sampled']!;
      const capacity = { sampled: rows, drawn: 1, cut: 1 };
      const plain = new Tape(device, capacity);
      sample(plain.borrow(forward, logits), batch);
      plain.finish();

      const bar = new Tape(device, capacity);
      const barred = bar.borrow(forward, logits);
      exclude(barred, batch, masks);
      sample(barred, batch);
      bar.finish();

      const edit = new Tape(device, capacity);
      const edited = edit.keep(maskLogits(edit.borrow(forward, logits), batch, masks));
      edit.finish();
      const draw = new Tape(device, capacity);
      const own = draw.borrow(edit, edited);
      sample(own, batch);
      logprobs(tempered ? own : draw.borrow(forward, logits), batch, results, { tempered });
      draw.finish();

      const processing = new Map<number, Tape>();
      const tapeOf = ({ name, id }: { name: string; id: number }): Tape => {
        const known = processing.get(id);
        if (known) return known;
        for (const [old, tape] of processing)
          if (!processors.has(old) && processing.delete(old)) tape.destroy();
        const tape = new Tape(device, capacity);
        process(tape.borrow(edit, edited), batch, { name, id });
        tape.finish();
        processing.set(id, tape);
        return tape;
      };

      const tapes = [plain, bar, edit, draw];
      return {
        tapes,
        encode(encoder, sampled, masked) {
          const sizes = sampledSizes(sampled);
          uploadMasks(masked);
          if (!sampled.some(isEdited)) {
            (masked.length === 0 ? plain : bar).encode(encoder, sizes);
            return;
          }
          edit.encode(encoder, sizes);
          const sources = new Set(sampled.map(({ request }) => request.processor));
          for (const source of sources)
            if (source !== null) tapeOf(processors.of(source)).encode(encoder, sizes);
          draw.encode(encoder, sizes);
        },
        destroy: () => [...tapes, ...processing.values()].forEach((tape) => tape.destroy()),
      };
    },
  };
}

/** Rows that are sampled, and whether any is above temperature 0 or cut by top-k or top-p: without one, the dispatches for it are skipped. */
function sampledSizes(sampled: readonly StepSequence[]): Sizes {
  const drawn = sampled.filter(({ request: { sampling } }) => sampling.temperature > 0);
  const isCut = drawn.some(({ request: { sampling } }) => sampling.topK > 0 || sampling.topP < 1);
  return { sampled: sampled.length, drawn: Number(drawn.length > 0), cut: Number(isCut) };
}

/** Returns true if the row's log probabilities are requested or a function of its own changes its logits. */
function isEdited({ request: { sampling, processor } }: StepSequence): boolean {
  return sampling.logprobs !== null || processor !== null;
}
