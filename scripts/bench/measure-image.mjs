// One image model, measured in a process of its own, its shader cache first empty and then warm; prints JSON.
//   node scripts/bench/measure-image.mjs FOLDER REQUEST PICTURES [--start | --profile]
// REQUEST is JSON; --start draws one picture and no more.

import { openDevice } from '../../dist/gpu/node.js';
import { throttlePolling } from '../../dist/gpu/polling.js';
import { measureCeilings } from './ceilings.mjs';
import { countParts, profileParts } from './parts.mjs';
import { drawTimed, fastest, openCounted } from './picture.mjs';

const [folder, json, pictures, more] = process.argv.slice(2);
const request = JSON.parse(json);
throttlePolling();
const { model, ready, pipelines } = await openCounted(folder);
const first = await drawTimed(model, request);
const { adapter, denoiser, quantization } = model.info;
const result = { adapter, denoiser, quantization, ready, first, pipelines: pipelines.count };
if (more === '--start') {
  await model.close();
} else {
  const drawn = [first];
  while (drawn.length < Number(pictures)) drawn.push(await drawTimed(model, request));
  await model.close();
  result.best = fastest(drawn);
  result.work = await countParts(folder, first.values, request.prompt.length);
  const device = await openDevice();
  result.ceilings = await measureCeilings(device.gpu, device.summary.software);
  const profiles = more === '--profile' && device.capabilities.timestamps;
  result.kernels = profiles ? await profileParts(device, folder, first.values, request.prompt) : null;
  device.destroy();
}
process.stdout.write(JSON.stringify(result), () => process.exit());
