// Choices about the layout of weights that follow from the device and its budget.

import type { Device } from '../../gpu/device.ts';
import type { WeightFormat } from '../../kernels/formats.ts';
import type { DevicePart } from '../../models/weights.ts';
import type { WeightPlanOptions } from './plan.ts';

export interface LayoutOptions {
  /** Format of the matrices that may be quantized; null: the format of the file. */
  format: WeightFormat | null;
  /** Convolutions are stored as in the file, for plain kernels. */
  plain?: boolean;
  /** The budget that decides on forms of convolutions; left out: the device's. */
  memoryBudget?: number;
  /** The part of the matrices that this device has, where several divide them; left out: it has them whole. */
  part?: DevicePart | undefined;
}

/** Minimum ratio of the budget to the checkpoint's size. Free memory is not considered, so that equal runs make equal choices. */
const WINOGRAD_ROOM = 8;

/** Returns the plan options for a device. `storedBytes`: size of the checkpoint. */
export function planOptionsOf(
  device: Device,
  storedBytes: number,
  { format, plain, memoryBudget = device.memoryBudget }: LayoutOptions,
): WeightPlanOptions {
  // Winograd's form takes seven bytes per weight, three and a half times those of 16-bit weights. It is faster where a
  // multiplication costs more than moving its operands, which the adapter's profile states. It is not used with a quantization,
  // which is chosen to save memory.
  const winograd =
    !plain &&
    device.profile.winograd &&
    format?.packing !== 'quantise' &&
    WINOGRAD_ROOM * storedBytes <= memoryBudget;
  return { format, bindingLimit: device.capabilities.bindingLimit, winograd };
}
