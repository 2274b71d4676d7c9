// Models that tests open in their own thread run on kept devices, unless the file asks for devices of its own.

import { MEMORY_REMEDIES } from '../../src/host/memory-remedies.ts';
import { nodePlatform } from '../../src/host/node/platform.ts';
import { readTuned } from '../../src/files/disk/tuned-file.ts';
import { openModelDevice, openOwnModelDevice } from '../gpu/kept-device.ts';

let areKept = true;

nodePlatform.openDevice = async (options) => {
  const { adapter, ...rest } = options;
  const open = areKept ? openModelDevice : openOwnModelDevice;
  const device = await open({
    ...rest,
    safe: rest.safe && process.env['TESTS_BOUNDS_CHECKS'] !== 'all' ? 'calls' : rest.safe,
    remedies: MEMORY_REMEDIES,
    ...(adapter === undefined ? {} : { adapter: String(adapter) }),
  });
  device.tuning.learn(await readTuned(device.summary));
  return device;
};

/** For all tests of a file; called by the set-up before each. */
export function keepDevices(): void {
  areKept = true;
}

/** Until `keepDevices`, or for the rest of a file: for tests that lose devices while they work, or count what opens them. */
export function useOwnDevices(): void {
  areKept = false;
}
