// Chooses a quantization: computes the bytes that a page's weights take in each, and takes the largest that fits the budget.

import { type Prose, option, say } from '../../files/message.ts';
import { bytesText } from '../../files/bytes-text.ts';
import { EngineError } from '../../files/error.ts';
import type { Device } from '../../gpu/device.ts';
import { QUANTIZED_FORMATS, type QuantizedFormat } from '../../kernels/formats.ts';
import type { WeightTable } from '../../models/weights.ts';
import type { Quantization } from '../session/open-event.ts';
import type { TensorHeaders } from './check.ts';
import { collect } from './collect.ts';
import { formatOf, planWeights } from './plan.ts';

export type ChosenQuantization = 'none' | QuantizedFormat;

/** Available quantizations, most bits first. */
export const QUANTIZATIONS: readonly ChosenQuantization[] = ['none', ...QUANTIZED_FORMATS];

/** Share of the budget that `auto` uses for weights; the rest is for pages and intermediates. */
const SHARE_FOR_WEIGHTS = 0.8;

/** Returns the bytes that a page's weights take on a device in a quantization. For pages without convolutions. */
export function weightBytesIn(
  { capabilities: { bindingLimit } }: Pick<Device, 'capabilities'>,
  tensors: TensorHeaders,
  page: (weights: WeightTable) => unknown,
): (quantization: ChosenQuantization) => number {
  const { requests } = collect(tensors, page);
  // A tensor that is missing or of another type is refused later, when the weights are opened.
  const dtypeOf = (name: string): string => tensors.get(name)?.dtype ?? 'F32';
  return (quantization) =>
    planWeights(requests, dtypeOf, { format: formatOf(quantization), bindingLimit, winograd: false }).bytes;
}

/** `auto` chooses the largest format that leaves memory for pages. Throws out_of_memory if none does. */
export async function chooseQuantization(
  device: Device,
  wanted: Quantization,
  bytesIn: (quantization: ChosenQuantization) => number,
): Promise<{ quantization: ChosenQuantization; note: Prose | null }> {
  if (wanted !== 'auto') return { quantization: wanted, note: null };
  for (const quantization of QUANTIZATIONS) {
    const bytes = bytesIn(quantization);
    if (!(await device.reserve(bytes / SHARE_FOR_WEIGHTS))) continue;
    const budget = bytesText(device.memoryBudget);
    const note = say`${option('quantization')} auto: ${quantization}, ${bytesText(bytes)} of weights in a budget of ${budget}`;
    return { quantization, note };
  }
  const smallest = QUANTIZATIONS.at(-1)!;
  throw new EngineError(
    'out_of_memory',
    say`the weights need ${bytesText(bytesIn(smallest))} even as ${smallest}, the memory budget is ${bytesText(device.memoryBudget)}: raise ${option('memoryBudget')} or choose a smaller model`,
  );
}
