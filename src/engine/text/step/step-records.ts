// Additional data of a step (hidden states, routed experts): copied after the step, and read together with its tokens.

import type { Device } from '../../../gpu/device.ts';
import { paddedColumns } from '../../../gpu/tensor.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import type { StepSizes } from './batch-writer.ts';
import { Readback } from './readback.ts';
import { draftedRows, sampledRows, type StepPart } from './step-part.ts';

export class StepRecords {
  readonly #device: Device;
  readonly #batch: TextBatch;
  readonly #hidden: number;
  readonly #routeWords: number;
  readonly #readback: Readback;

  /** `routeWords`: words of one row. */
  constructor(
    device: Device,
    batch: TextBatch,
    { hidden, routeWords }: { hidden: number; routeWords: number },
  ) {
    this.#device = device;
    this.#batch = batch;
    this.#hidden = hidden;
    this.#routeWords = routeWords;
    this.#readback = new Readback(device, [batch.states, batch.routed]);
  }

  /**
   * Copies the data; must be called right after a step was submitted. Returns null if none of its sequences requests them. The
   * returned function waits for the copies and passes them to the sequences.
   */
  take(parts: readonly StepPart[], { rows, sampled }: StepSizes): (() => Promise<void>) | null {
    const { gpu } = this.#device;
    const { states, routed } = this.#batch;
    const stride = paddedColumns(this.#hidden);
    const wantsStates = parts.some(({ sequence, samples }) => samples && sequence.recorder?.wantsStates);
    const wantsRoutes = parts.some(({ sequence }) => sequence.recorder?.wantsRoutes);
    const stateBytes = states && wantsStates ? 4 * sampled * stride : 0;
    const routeBytes = routed && wantsRoutes ? 4 * rows * this.#routeWords : 0;
    if (stateBytes + routeBytes === 0) return null;
    const encoder = gpu.createCommandEncoder();
    const read = this.#readback.copy(encoder, [stateBytes, routeBytes]);
    gpu.queue.submit([encoder.finish()]);
    return async () => {
      const [vectors, experts] = await read();
      if (stateBytes > 0) handStates(parts, new Float32Array(vectors!.buffer), stride, this.#hidden);
      if (routeBytes > 0) handRoutes(parts, experts!, this.#routeWords);
    };
  }
}

function handStates(parts: readonly StepPart[], values: Float32Array, stride: number, hidden: number): void {
  let i = 0;
  for (const part of parts) {
    const { recorder } = part.sequence;
    const position = part.first + part.rows - draftedRows(part);
    // The state after a draft's token that was wrong is recorded again once its position is computed.
    for (let nth = 0; nth < sampledRows(part).length; nth++, i++)
      if (recorder?.wantsStates)
        recorder.state(position + nth, values.slice(i * stride, i * stride + hidden));
  }
}

function handRoutes(parts: readonly StepPart[], words: Uint32Array, each: number): void {
  let row = 0;
  for (const { sequence, first, rows } of parts) {
    for (let i = 0; sequence.recorder?.wantsRoutes && i < rows; i++)
      sequence.recorder.route(first + i, words.slice((row + i) * each, (row + i + 1) * each));
    row += rows;
  }
}
