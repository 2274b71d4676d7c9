// Before every test file: nothing of the user's own settings reaches a test, except the driver that SVC_VULKAN_DRIVER names; and
// waiting for the device leaves its core to the device.

import { throttlePolling } from '../src/gpu/polling.ts';

for (const name of Object.keys(process.env)) {
  const ours = name.startsWith('SVC_') && name !== 'SVC_VULKAN_DRIVER';
  if (ours || name.startsWith('HF_')) delete process.env[name];
}

throttlePolling();
