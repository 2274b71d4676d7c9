// The format of a pipeline's matrices: the one asked for, or the largest with which the largest component fits the budget.

import { type Prose, option, say } from '../../../files/message.ts';
import { bytesText } from '../../../files/bytes-text.ts';
import { EngineError } from '../../../files/error.ts';
import type { Weights } from '../../../files/checkpoint/shards.ts';
import type { Device } from '../../../gpu/device.ts';
import {
  bitsPerWeight,
  FORMATS,
  QUANTIZED_FORMATS,
  type QuantizedFormat,
  type WeightFormat,
} from '../../../kernels/formats.ts';
import type { Quantization } from '../../opening/open-event.ts';
import { formatOf, storedAs } from '../../weights/plan.ts';

export interface FormatOptions {
  /** `f32`: weights are widened to f32; `auto`: the largest format with which every stage fits the budget. */
  quantization: Quantization | 'f32';
  onNote(message: Prose): void;
}

/** Share of the budget for the weights of a stage; the rest is for intermediates. */
const SHARE_FOR_WEIGHTS = 0.6;
/** Share of 16 bits that a weight takes, including scales. */
const packedShare = (choice: 'none' | QuantizedFormat): number =>
  choice === 'none' ? 1 : bitsPerWeight(FORMATS[choice]) / 16;

const SMALLEST = QUANTIZED_FORMATS.at(-1)!;

/** Whether a component's file holds matrices in codes. */
const hasCodes = ({ tensors }: Weights): boolean =>
  [...tensors.values()].some(({ dtype }) => storedAs(dtype).packing === 'stored');

/** Bytes of the largest component in a quantization. Codes of a file are never quantized again. */
function largestIn(components: readonly Weights[], choice: 'none' | QuantizedFormat): number {
  const sizes = components.map((weights) => {
    const stored = [...weights.tensors.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    return stored * (hasCodes(weights) ? 1 : packedShare(choice));
  });
  return Math.max(...sizes);
}

/** The format of a component's matrices: the one that was chosen, or that of its file where it holds codes and none was asked for. */
export function formatOfComponent(
  weights: Weights,
  { quantization }: Pick<FormatOptions, 'quantization'>,
  chosen: WeightFormat | null,
): WeightFormat | null {
  return quantization === 'auto' && hasCodes(weights) ? null : chosen;
}

/** Chooses the format of matrices; null: the format of the file. */
export async function chooseFormat(
  device: Device,
  { quantization, onNote }: FormatOptions,
  components: readonly Weights[],
): Promise<WeightFormat | null> {
  if (quantization === 'f32') return FORMATS.f32;
  if (quantization !== 'auto') return formatOf(quantization);
  for (const choice of ['none', ...QUANTIZED_FORMATS] as const) {
    const bytes = largestIn(components, choice);
    if (!(await device.reserve(bytes / SHARE_FOR_WEIGHTS))) continue;
    const budget = bytesText(device.memoryBudget);
    onNote(
      say`${option('quantization')} auto: ${choice}, at most ${bytesText(bytes)} of weights at a time in a budget of ${budget}`,
    );
    return formatOf(choice);
  }
  throw new EngineError(
    'out_of_memory',
    say`the largest component needs ${bytesText(largestIn(components, SMALLEST))} even as ${SMALLEST}, the memory budget is ${bytesText(device.memoryBudget)}: raise ${option('memoryBudget')} or choose a smaller model`,
  );
}
