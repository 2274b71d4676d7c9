// CLIP's vision encoder against transformers.

import { clipVision } from '../../../src/models/vision/clip-vision.ts';
import { readClipVisionConfig } from '../../../src/models/vision/clip-vision-config.ts';
import { describeGoldens, expectAgreement, load } from '../image-golden.ts';
import { patchesOf } from './patches-of.ts';

describeGoldens(['clip-vision', 'clip-vision-plain'], async (golden, device, run) => {
  const config = readClipVisionConfig(golden.config);
  const projects = golden.class !== 'CLIPVisionModel';
  const model = await load(device, golden, (weights) => clipVision(config, weights, { projects }));
  const { values } = await run((tape, input) => {
    const ones = input({ shape: [2], values: Float32Array.of(1, 1) }).region!;
    const notFinite = input({ shape: [1], values: Float32Array.of(0) }, true).region!;
    const given = () => ({
      patches: input(patchesOf(golden.inputs.get('pixels')!, config.patch)),
      ones,
      notFinite,
    });
    const states = model(tape, given(), 'states');
    return projects ? [states, model(tape, given(), 'projected')] : [states];
  });
  expectAgreement(values[0]!, golden.outputs.get('hidden_2')!);
  if (projects) expectAgreement(values[1]!, golden.outputs.get('image_embeds')!);
});
