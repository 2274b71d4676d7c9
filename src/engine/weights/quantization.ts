// Chooses a quantization: computes the bytes that a page's weights take in each, and takes the largest that fits the budget.

import { type Prose, option, say } from '../../files/message.ts';
import { bytesText } from '../../files/bytes-text.ts';
import { MemoryError } from '../../files/error.ts';
import type { Device } from '../../gpu/device.ts';
import { QUANTIZED_FORMATS, type QuantizedFormat } from '../../kernels/formats.ts';
import { mayQuantise, type WeightTable } from '../../models/weights.ts';
import { SHARE_FOR_WEIGHTS, type Quantization } from '../opening/open-event.ts';
import type { TensorHeaders } from './check.ts';
import { collect } from './collect.ts';
import { formatOf, keepsCodes, planWeights, storedAs } from './plan.ts';

export type ChosenQuantization = 'none' | QuantizedFormat;

/** Available quantizations, most bits first. */
export const QUANTIZATIONS: readonly ChosenQuantization[] = ['none', ...QUANTIZED_FORMATS];

/** Bytes that a page's weights take in a quantization, and the quantizations that can be chosen, most bits first. */
export interface WeightBytes {
  (quantization: ChosenQuantization): number;
  /** Only `none` if the checkpoint stores other matrices than experts as codes, which are never quantized again. */
  readonly choices: readonly ChosenQuantization[];
}

/**
 * Returns the bytes that a page's weights take on a device in a quantization; the function throws unsupported for a quantization of
 * weights that are stored in codes. For pages without convolutions.
 */
export function weightBytesIn(
  { capabilities: { bindingLimit } }: Pick<Device, 'capabilities'>,
  tensors: TensorHeaders,
  page: (weights: WeightTable) => unknown,
): WeightBytes {
  const { requests } = collect(tensors, page);
  // A tensor that is missing or of another type is refused later, when the weights are opened.
  const dtypeOf = (name: string): string => tensors.get(name)?.dtype ?? 'F32';
  const bytesIn = (quantization: ChosenQuantization): number =>
    planWeights(requests, dtypeOf, {
      format: formatOf(quantization),
      bindingLimit,
      winograd: false,
    }).bytes;
  const names = requests
    .filter((request) => mayQuantise(request.role) && !keepsCodes(request, dtypeOf))
    .flatMap((request) => request.names);
  const hasCodes = names.some((name) => storedAs(dtypeOf(name)).packing === 'stored');
  return Object.assign(bytesIn, { choices: hasCodes ? (['none'] as const) : QUANTIZATIONS });
}

/** `wanted`: left out: none. `auto` chooses the largest format that leaves memory for pages. Throws out_of_memory if none does, unsupported if codes cannot be quantized so. */
export async function chooseQuantization(
  device: Device,
  wanted: Quantization | undefined,
  bytesIn: WeightBytes,
  onNote: (message: Prose) => void,
): Promise<ChosenQuantization> {
  if (wanted !== 'auto') {
    bytesIn(wanted ?? 'none');
    return wanted ?? 'none';
  }
  for (const quantization of bytesIn.choices) {
    const bytes = bytesIn(quantization);
    if (!(await device.reserve(bytes / SHARE_FOR_WEIGHTS))) continue;
    const budget = bytesText(device.memoryBudget);
    onNote(
      say`${option('quantization')} auto: ${quantization}, ${bytesText(bytes)} of weights in a budget of ${budget}`,
    );
    return quantization;
  }
  const smallest = bytesIn.choices.at(-1)!;
  const asSmallest = smallest === 'none' ? 'as they are stored' : `even as ${smallest}`;
  throw new MemoryError(
    say`the weights need ${bytesText(bytesIn(smallest))} ${asSmallest}, the memory budget is ${bytesText(device.memoryBudget)}`,
    say`raise ${option('memoryBudget')} or choose a smaller model`,
  );
}
