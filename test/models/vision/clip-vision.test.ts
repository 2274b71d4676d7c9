// CLIP's vision encoder against transformers.

import { clipVision } from '../../../src/models/vision/clip-vision.ts';
import { readClipVisionConfig } from '../../../src/models/vision/clip-vision-config.ts';
import { describeGoldens, expectAgreement, load, type Values } from '../image-golden.ts';

/** [1, 3, side, side] → [1, patches, 3 · patch²] */
function patchesOf({ shape, values }: Values, patch: number): Values {
  const side = shape[2]!;
  const across = side / patch;
  const rows: number[] = [];
  for (let cell = 0; cell < across ** 2; cell++)
    for (let channel = 0; channel < 3; channel++)
      for (let i = 0; i < patch ** 2; i++) {
        const y = Math.floor(cell / across) * patch + Math.floor(i / patch);
        const x = (cell % across) * patch + (i % patch);
        rows.push(values[(channel * side + y) * side + x]!);
      }
  return { shape: [1, across ** 2, 3 * patch ** 2], values: Float32Array.from(rows) };
}

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
