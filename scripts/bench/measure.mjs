// One model, measured in a process of its own, its shader cache first empty and then warm; prints JSON.
//   node scripts/bench/measure.mjs MODEL QUANTIZATION [--start]

import { openDevice } from '../../dist/gpu/node.js';
import { throttlePolling } from '../../dist/gpu/polling.js';
import { measureCeilings } from './ceilings.mjs';
import { measureDecode, measurePrefill, start } from './engine.mjs';
import { measureSteps } from './step.mjs';

const [folder, quantization, only] = process.argv.slice(2);
const { model, ...startTimes } = await start({ model: folder, quantization });
const result = { start: startTimes, memory: model.info.memory, adapter: model.info.adapter };
if (only === '--start') {
  await model.close();
} else {
  result.prefill = await measurePrefill(model);
  result.decode = {
    1: await measureDecode(model, 1, 128),
    4: await measureDecode(model, 4, 128),
    16: await measureDecode(model, 16, 128),
  };
  await model.close();
  throttlePolling();
  const device = await openDevice();
  result.ceilings = await measureCeilings(device.gpu, device.summary.software);
  result.steps = await measureSteps(device, folder, quantization);
  device.destroy();
}
process.stdout.write(JSON.stringify(result), () => process.exit());
