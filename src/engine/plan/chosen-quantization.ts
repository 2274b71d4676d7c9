// The quantization that a model is planned with: the one asked for, or the one that `auto` takes within the budget.

import type { Prose } from '../../files/message.ts';
import type { Device } from '../../gpu/device.ts';
import type { Quantization } from '../session/open-event.ts';
import { chooseQuantization, type WeightBytes } from '../weights/quantization.ts';
import type { PlannedQuantization } from './model-plan.ts';
import { isOutOfMemory } from './planned-model.ts';

/** null: `auto` finds none that has room. */
export async function chosenQuantization(
  device: Device,
  asked: Quantization = 'none',
  bytesIn: WeightBytes,
  onNote: (message: Prose) => void,
): Promise<PlannedQuantization | null> {
  try {
    const { quantization, note } = await chooseQuantization(device, asked, bytesIn);
    if (note !== null) onNote(note);
    return quantization;
  } catch (error) {
    if (!isOutOfMemory(error)) throw error;
    onNote(error);
    return null;
  }
}
