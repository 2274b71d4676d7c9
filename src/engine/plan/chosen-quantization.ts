// The quantization that a model is planned with: the one asked for, or the one that `auto` takes within the budget.

import type { Prose } from '../../files/message.ts';
import type { Device } from '../../gpu/device.ts';
import type { Quantization } from '../opening/open-event.ts';
import { chooseQuantization, type WeightBytes } from '../weights/quantization.ts';
import type { PlannedQuantization } from './model-plan.ts';
import { withinBudget } from './within-budget.ts';

/** null: `auto` finds none that has room. */
export function chosenQuantization(
  device: Device,
  asked: Quantization = 'none',
  bytesIn: WeightBytes,
  onNote: (message: Prose) => void,
): Promise<PlannedQuantization | null> {
  return withinBudget(async () => {
    const { quantization, note } = await chooseQuantization(device, asked, bytesIn);
    if (note !== null) onNote(note);
    return quantization;
  }, onNote);
}
