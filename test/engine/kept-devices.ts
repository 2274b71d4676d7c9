// Models that tests open in their own thread run on kept devices, unless the file asks for devices of its own.

import { MEMORY_REMEDIES } from '../../src/host/memory-remedies.ts';
import { nodePlatform } from '../../src/host/node/platform.ts';
import { readTuned } from '../../src/files/disk/tuned-file.ts';
import { openModelDevice } from '../gpu/kept-device.ts';

const openOwn = nodePlatform.openDevice;
let areKept = true;

nodePlatform.openDevice = async (options) => {
  if (!areKept) return openOwn(options);
  const { adapter, ...rest } = options;
  const device = await openModelDevice({
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

/** For the rest of a file that loses devices while they work, or counts what opens them. */
export function useOwnDevices(): void {
  areKept = false;
}
