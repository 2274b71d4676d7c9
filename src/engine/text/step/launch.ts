// The launch of one step: its buffers are written, its tapes are replayed, and what it sampled and recorded is read back.

import { EngineError } from '../../../files/error.ts';
import type { Device } from '../../../gpu/device.ts';
import type { ReplayOptions } from '../../../gpu/replay.ts';
import type { Tape } from '../../../gpu/tape.ts';
import type { Region, Sizes, Tensor } from '../../../gpu/tensor.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import { LOGPROB_WORDS } from '../../../kernels/logprobs.ts';
import type { DeviceLoras } from '../lora/lora-host.ts';
import { createPace } from '../towers/pace.ts';
import type { Towers } from '../towers/towers.ts';
import type { BatchWriter } from './batch-writer.ts';
import { asksForPrompt, type PromptReader } from './prompt-logprobs.ts';
import { Readback } from './readback.ts';
import type { Recordings } from './recordings.ts';
import type { Sampler } from './sampler.ts';
import { isExpanded, phaseOf, sampledRows, type StepPart } from './step-part.ts';
import type { StepRecords } from './step-records.ts';
import { writeStep } from './step.ts';

export interface Launched {
  /** Resolves once everything is submitted, before which nothing else may be; null: it is. Throws what reading weights from files throws. */
  submitted: Promise<void> | null;
  /** Samples, if that has not been done, and resolves with the sampled tokens. */
  sample(): Promise<SampledTokens>;
  /** Called instead of `sample` to drop a step whose sampling was postponed. */
  drop(): void;
}

/** The results of a step, by sampled row. */
export interface SampledTokens {
  ids: Uint32Array;
  /** LOGPROB_WORDS words for each sampled row; empty if no row asked for log probabilities. */
  logprobs: Uint32Array;
}

export interface LauncherParts {
  batch: TextBatch;
  writer: BatchWriter;
  recordings: Recordings;
  sampler: Sampler;
  prompts: Pick<PromptReader, 'take'>;
  records: Pick<StepRecords, 'take'>;
  loras: DeviceLoras;
  towers: Towers | null;
  /** Where the states that a draft model takes of a step's rows outlast it; null: none are taken. */
  taken: Region | null;
}

export class StepLauncher {
  readonly #device: Device;
  readonly #parts: LauncherParts;
  readonly #readback: Readback;
  readonly #pace = createPace();

  constructor(device: Device, parts: LauncherParts) {
    this.#device = device;
    this.#parts = parts;
    this.#readback = new Readback(device, [parts.batch.ids, parts.sampler.logprobs]);
  }

  /** Submits a step's forward pass, and its sampling too unless `sampleLater` is set; then sampling waits for `sample`. */
  launch(parts: readonly StepPart[], { sampleLater = false } = {}): Launched {
    const { batch, writer, recordings, sampler, prompts, records, towers } = this.#parts;
    const phase = recordings.decodeRows === null ? null : phaseOf(parts[0]!);
    const expanded = recordings.expands && isExpanded(parts[0]!);
    const sizes = writeStep(writer, { parts, phase, expanded }, (source) => sampler.processors.of(source).id);
    towers?.copyRows(parts, batch);
    const isAdapted = parts.some(({ sequence }) => sequence.request.lora !== null);
    const { forward, sampling, head, taken } = recordings.find(sizes, phase, isAdapted);
    const sampled = parts.flatMap(sampledRows);
    const masked = sampled.filter(({ needsMask }) => needsMask);
    const asked = sampled.some(({ request }) => request.sampling.logprobs !== null);
    const started = performance.now();
    let read!: () => Promise<Uint32Array[]>;
    const sample = (encoder: GPUCommandEncoder): void => {
      if (sampled.length > 0) sampling.encode(encoder, sampled, masked);
      const sizesRead = [4 * sampled.length, asked ? 4 * LOGPROB_WORDS * sampled.length : 0];
      read = this.#readback.copy(encoder, sizesRead);
    };
    const last = (encoder: GPUCommandEncoder): void => {
      if (taken) this.#take(encoder, forward, taken, sizes);
      if (together) sample(encoder);
    };
    const submitSampling = (): void => {
      const encoder = this.#device.gpu.createCommandEncoder();
      sample(encoder);
      this.#device.gpu.queue.submit([encoder.finish()]);
    };
    // Log probabilities of prompts reuse the buffers of sampling, so sampling is submitted separately.
    const together = !sampleLater && !asksForPrompt(parts);
    const submitEvery = this.#pace.segments(sizes.rows);
    let ofPrompts: ReturnType<PromptReader['take']> = null;
    let recorded: ReturnType<StepRecords['take']> = null;
    const submitted = this.#forward(
      forward,
      sizes,
      { submitEvery, ...(together || taken ? { last } : {}) },
      () => {
        ofPrompts = prompts.take(head, parts);
        if (!sampleLater && !together) submitSampling();
        recorded = records.take(parts, sizes);
      },
    );
    const finish = async (): Promise<SampledTokens> => {
      await submitted;
      const [ids, logprobs] = await read();
      await ofPrompts?.();
      await recorded?.();
      if (!ofPrompts) this.#pace.took(sizes.rows, forward.segmentCount, performance.now() - started);
      const error = this.#device.takeError();
      if (error !== null) throw error;
      return { ids: ids!, logprobs: logprobs! };
    };
    if (sampleLater) return this.#sampledLater(submitted, submitSampling, finish);
    const tokens = finish();
    return { submitted, sample: () => tokens, drop: () => {} };
  }

  /** Copies what a draft model takes of a step, before other tapes use its memory. */
  #take(encoder: GPUCommandEncoder, forward: Tape, taken: Tensor, sizes: Sizes): void {
    const { buffer, offset } = forward.region(taken);
    const to = this.#parts.taken!;
    encoder.copyBufferToBuffer(buffer, offset, to.buffer, to.offset, taken.bytes(sizes));
  }

  /**
   * Submits a forward pass and then what `follow` submits. Returns null, or where it waits for a file, a promise; LoRA factors do not
   * change until that resolves.
   */
  #forward(forward: Tape, sizes: Sizes, options: ReplayOptions, follow: () => void): Promise<void> | null {
    if (!forward.waits) {
      forward.run(sizes, options);
      follow();
      return null;
    }
    const release = this.#parts.loras.hold();
    const submitted = forward.replay(sizes, options).catch((error: unknown) => {
      // Weights that cannot be read are packed again where the model is loaded on another device.
      if (error instanceof EngineError) this.#device.destroy(error.message);
      throw error;
    });
    return submitted.then(follow).finally(release);
  }

  /** LoRA factors do not change until the step is sampled or dropped, or could not be submitted. */
  #sampledLater(
    submitted: Promise<void> | null,
    submitSampling: () => void,
    finish: () => Promise<SampledTokens>,
  ): Launched {
    const release = this.#parts.loras.hold();
    submitted?.catch(release);
    return {
      submitted,
      sample() {
        try {
          submitSampling();
        } finally {
          release();
        }
        return finish();
      },
      drop: release,
    };
  }
}
