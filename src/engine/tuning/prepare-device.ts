// What every starter does with a device that it has opened.

import type { AdapterSummary } from '../../gpu/adapter.ts';
import type { Device } from '../../gpu/device.ts';
import type { TunedVariants } from '../../gpu/tuning.ts';
import { probeMatrixUnit } from '../../kernels/matrix-unit.ts';

/** Returns the device, which knows the variants that were tuned on its adapter before, and whether its matrix units are right. */
export async function prepareDevice(
  device: Device,
  readTuned: (adapter: AdapterSummary) => Promise<TunedVariants>,
): Promise<Device> {
  device.tuning.learn(await readTuned(device.summary));
  await probeMatrixUnit(device);
  return device;
}
