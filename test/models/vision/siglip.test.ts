// SigLIP's encoder against transformers, on its own as pipelines have it.

import { readConfig } from '../../../src/models/config-values.ts';
import { readSiglipEncoder } from '../../../src/models/vision/siglip-config.ts';
import { siglip } from '../../../src/models/vision/siglip.ts';
import { describeGoldens, expectAgreement, load } from '../image-golden.ts';
import { patchesOf } from './patches-of.ts';

const DEFAULTS = { hidden: 768, heads: 12, patch: 16 };

describeGoldens(['siglip-vision'], async (golden, device, run) => {
  const config = readSiglipEncoder(readConfig('config.json', golden.config), DEFAULTS);
  const page = await load(device, golden, (weights) => {
    weights.ignore(/^vision_model\.head\./);
    return siglip(config, weights, 'vision_model.');
  });
  const patches = patchesOf(golden.inputs.get('pixels')!, config.patch);
  const { values } = await run((_, input) => [page.run(input(patches))]);
  expectAgreement(values[0]!, golden.outputs.get('last_hidden_state')!);
});
