// The image of a clip's first frame as SigLIP sees it.

import { resample } from '../../../../files/image/resample.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { readConfig } from '../../../../models/config-values.ts';
import type { HunyuanConfig } from '../../../../models/image/clips/hunyuan-config.ts';
import { HALVES } from '../../../../models/vision/pixel-values.ts';
import { readSiglipEncoder } from '../../../../models/vision/siglip-config.ts';
import { siglip } from '../../../../models/vision/siglip.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import { patchValues } from '../../blocks/clip-image.ts';
import type { RunRequest } from '../../blocks/family.ts';
import { requireWidth } from '../../blocks/transformer-model.ts';
import type { ComponentAccess } from '../../components/components.ts';
import { computeFinite } from '../../recording/compute.ts';
import { Scope } from '../../recording/scope.ts';

const ENCODER = 'image_encoder';

export class HunyuanImageEncoder {
  readonly #components: ComponentAccess;

  constructor(components: ComponentAccess) {
    this.#components = components;
  }

  /** Throws bad_checkpoint for an encoder whose states are not those that the transformer reads. */
  check({ imageDims }: Pick<HunyuanConfig, 'imageDims'>): void {
    requireWidth('image_embed_dim', imageDims, ENCODER, this.#config.hidden);
    this.#components.check(ENCODER, (table) => this.#page(table));
  }

  /** Returns the states of a request's image, [1, tokens, columns]; the caller frees them. */
  async read({ references, options }: RunRequest): Promise<Tensor> {
    const { device } = this.#components;
    const { side, patch } = this.#config;
    using encoder = await this.#components.load(ENCODER, 'image', (table) => this.#page(table), options);
    using inputs = new Scope(device);
    const seen = resample(references[0]!, side, side, { filter: 'bicubic' });
    const values = patchValues(seen, { left: 0, top: 0, side, patch }, HALVES);
    const columns = 3 * patch ** 2;
    const patches = inputs.hold(
      device.tensor('step', 'patches', [1, values.length / columns, columns], values),
    );
    const [states] = await computeFinite(device, options, 'the image encoder', (tape) => [
      encoder.page.run(patches.on(tape)),
    ]);
    return states!;
  }

  get #config() {
    const config = readConfig(`${ENCODER}/config.json`, this.#components.get(ENCODER).config);
    return readSiglipEncoder(config, { hidden: 768, heads: 12, patch: 16 });
  }

  #page(table: WeightTable): ReturnType<typeof siglip> {
    table.ignore(/^vision_model\.head\./); // pools the states, which are read themselves
    return siglip(this.#config, table, 'vision_model.');
  }
}
