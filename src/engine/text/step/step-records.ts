// Additional data of a step (hidden states, routed experts): copied after the step, and read together with its tokens.

import type { Device } from '../../../gpu/device.ts';
import { paddedColumns } from '../../../gpu/tensor.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import { createReadback } from './readback.ts';
import type { StepPart } from './step-part.ts';
import type { StepSizes } from './batch-writer.ts';

export interface StepRecords {
  /**
   * Copies the data; must be called right after a step was submitted. Returns null if none of its sequences requests them. The
   * returned function waits for the copies and passes them to the sequences.
   */
  take(parts: readonly StepPart[], sizes: StepSizes): (() => Promise<void>) | null;
}

/** `routeWords`: words of one row. */
export function createStepRecords(
  device: Device,
  { states, routed }: TextBatch,
  { hidden, routeWords }: { hidden: number; routeWords: number },
): StepRecords {
  const stride = paddedColumns(hidden);
  const readback = createReadback(device, [states, routed]);
  return {
    take(parts, { rows, sampled }) {
      const wants = (what: 'wantsStates' | 'wantsRoutes') =>
        parts.some(
          ({ sequence: { recorder }, samples }) => recorder?.[what] && (samples || what === 'wantsRoutes'),
        );
      const stateBytes = states && wants('wantsStates') ? 4 * sampled * stride : 0;
      const routeBytes = routed && wants('wantsRoutes') ? 4 * rows * routeWords : 0;
      if (stateBytes + routeBytes === 0) return null;
      const encoder = device.gpu.createCommandEncoder();
      const read = readback.copy(encoder, [stateBytes, routeBytes]);
      device.gpu.queue.submit([encoder.finish()]);
      return async () => {
        const [vectors, experts] = await read();
        if (stateBytes > 0) handStates(parts, new Float32Array(vectors!.buffer), stride, hidden);
        if (routeBytes > 0) handRoutes(parts, experts!, routeWords);
      };
    },
  };
}

function handStates(parts: readonly StepPart[], values: Float32Array, stride: number, hidden: number): void {
  parts
    .filter(({ samples }) => samples)
    .forEach(({ sequence: { recorder }, first, rows }, i) => {
      if (recorder?.wantsStates) recorder.state(first + rows, values.slice(i * stride, i * stride + hidden));
    });
}

function handRoutes(parts: readonly StepPart[], words: Uint32Array, each: number): void {
  let row = 0;
  for (const { sequence, first, rows } of parts) {
    for (let i = 0; sequence.recorder?.wantsRoutes && i < rows; i++)
      sequence.recorder.route(first + i, words.slice((row + i) * each, (row + i + 1) * each));
    row += rows;
  }
}
