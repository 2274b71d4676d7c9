// Errors of memory on a device that the engine has opened.

import { expect, it } from 'vitest';
import { nodePlatform } from '../../src/host/node/platform.ts';

it('an allocation beyond the budget names the options that a model is opened with', async () => {
  const device = await nodePlatform.openDevice({ safe: true, memoryBudget: 1024 });
  expect(() => device.allocate('kv', 'pages', 4096)).toThrow(
    'are free: raise `memoryBudget`, ask for less (a shorter context, a smaller image) or choose `quantization` int4',
  );
  device.destroy();
});
