// The platform as planning needs it: folders and a device without a GPU.

import type { OpenFolder } from '../../files/pipeline/pipeline-weights.ts';
import type { Device } from '../../gpu/device.ts';

export interface PlanPlace {
  /** A folder by the model's path or by one below it. */
  openFolder: OpenFolder;
  /** A device that computes nothing. */
  openDevice(memoryBudget: number): Device;
}
