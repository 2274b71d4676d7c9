// One image model, measured in a process of its own, its shader cache first empty and then warm; prints JSON.
//   node scripts/bench/measure-image.mjs FOLDER REQUEST IMAGES [--start | --profile]
// REQUEST is JSON; --start draws one image and no more; --profile also measures the kernels of the decoder.

import { openDevice } from '../../dist/gpu/node.js';
import { throttlePolling } from '../../dist/gpu/polling.js';
import { measureCeilings } from './ceilings.mjs';
import { countParts, profileParts } from './parts.mjs';
import { drawTimed, fastest, openCounted } from './picture.mjs';

const [folder, json, count, more] = process.argv.slice(2);
const request = JSON.parse(json);
throttlePolling();
const { model, ready, pipelines } = await openCounted(folder);
const first = await drawTimed(model, request);
const { adapter, denoiser, quantization } = model.info;
const planned = await model.plan(request);
const result = { adapter, denoiser, quantization, ready, first, planned, pipelines: pipelines.count };
if (more === '--start') {
  await model.close();
} else {
  const drawn = [first];
  while (drawn.length < Number(count)) drawn.push(await drawTimed(model, request));
  await model.close();
  result.best = fastest(drawn);
  result.work = await countParts(folder, first.values, request.prompt.length);
  const device = await openDevice();
  result.ceilings = await measureCeilings(device.gpu, device.summary.software);
  const measured = more === '--profile' ? ['step', 'decode'] : ['step'];
  result.kernels = device.capabilities.timestamps
    ? await profileParts(device, folder, first.values, request.prompt, measured)
    : null;
  device.destroy();
}
process.stdout.write(JSON.stringify(result), () => process.exit());
