// The platform as planning needs it: folders, and a device without a GPU.

import type { OpenFolder } from '../../files/pipeline/pipeline-weights.ts';
import type { Device } from '../../gpu/device.ts';

export interface PlanPlace {
  /** A folder by the model's path or by one below it. */
  openFolder: OpenFolder;
  /** A device that computes nothing, with the properties of the adapter that models are opened on. */
  openDevice(memoryBudget: number): Device;
  /** Bytes of memory that this machine has: a larger budget is suggested only where no smaller change is enough. */
  memory: number;
  /** Files are read over a network, so that stored tensors are compared by their first rows alone. */
  isRemote?: boolean;
  /** Folders hold configurations and indexes alone: shapes of weights follow from what the model's page asks for. */
  configsOnly?: boolean;
}
