// What a step leaves for those who ask for more than tokens: copied out behind it, read once its tokens are.

import type { Device } from '../../gpu/device.ts';
import { paddedColumns } from '../../gpu/tensor.ts';
import type { TextBatch } from '../../kernels/batch.ts';
import { createReadback } from './readback.ts';
import type { Part } from './scheduler.ts';
import type { StepSizes } from './step.ts';

export interface StepRecords {
  /** Right after a step was submitted; null: none of its sequences asks. The result waits, and hands all to the sequences. */
  take(parts: readonly Part[], sizes: StepSizes): (() => Promise<void>) | null;
}

/** `routeWords`: of one row. */
export function createStepRecords(
  device: Device,
  { states, routed }: TextBatch,
  { hidden, routeWords }: { hidden: number; routeWords: number },
): StepRecords {
  const stride = paddedColumns(hidden);
  const stateStaging = states && createReadback(device, states.size / 4);
  const routeStaging = routed && createReadback(device, routed.size / 4);
  return {
    take(parts, { rows, sampled }) {
      const wants = (what: 'wantsStates' | 'wantsRoutes') =>
        parts.some(
          ({ sequence: { recorder }, samples }) => recorder?.[what] && (samples || what === 'wantsRoutes'),
        );
      const encoder = device.gpu.createCommandEncoder();
      const copies = [
        { wanted: wants('wantsStates'), region: states, staging: stateStaging, words: sampled * stride },
        { wanted: wants('wantsRoutes'), region: routed, staging: routeStaging, words: rows * routeWords },
      ];
      const [stateWords, routes] = copies.map(({ wanted, region, staging, words }) => {
        if (!wanted || !region || !staging) return null;
        const buffer = staging.next();
        encoder.copyBufferToBuffer(region.buffer, region.offset, buffer, 0, 4 * words);
        return () => staging.read(buffer, words);
      });
      if (!stateWords && !routes) return null;
      device.gpu.queue.submit([encoder.finish()]);
      return async () => {
        const [vectors, experts] = await Promise.all([stateWords?.(), routes?.()]);
        if (vectors) handStates(parts, new Float32Array(vectors.buffer), stride, hidden);
        if (experts) handRoutes(parts, experts, routeWords);
      };
    },
  };
}

function handStates(parts: readonly Part[], values: Float32Array, stride: number, hidden: number): void {
  parts
    .filter(({ samples }) => samples)
    .forEach(({ sequence: { recorder }, first, rows }, i) => {
      if (recorder?.wantsStates) recorder.state(first + rows, values.slice(i * stride, i * stride + hidden));
    });
}

function handRoutes(parts: readonly Part[], words: Uint32Array, each: number): void {
  let row = 0;
  for (const { sequence, first, rows } of parts) {
    for (let i = 0; sequence.recorder?.wantsRoutes && i < rows; i++)
      sequence.recorder.route(first + i, words.slice((row + i) * each, (row + i + 1) * each));
    row += rows;
  }
}
