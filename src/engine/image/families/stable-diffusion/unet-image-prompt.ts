// The image prompt of a Stable Diffusion model with an IP-Adapter: the image encoder and the adapter run once per request, and give the
// UNet keys and values to which it attends beside those of the text.

import type { Tensor } from '../../../../gpu/tensor.ts';
import { badCheckpoint, badRequest, type EngineError } from '../../../../files/error.ts';
import { joinRows } from '../../../../kernels/copy-rows.ts';
import { ipAdapter } from '../../../../models/image/unet/ip-adapter.ts';
import {
  readIPAdapterConfig,
  type IPAdapterConfig,
} from '../../../../models/image/unet/ip-adapter-config.ts';
import type { UNetConfig } from '../../../../models/image/unet/unet-config.ts';
import { clipVision } from '../../../../models/vision/clip-vision.ts';
import { readClipVisionConfig, type ClipVisionConfig } from '../../../../models/vision/clip-vision-config.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import { compute, type ComputeOptions } from '../../recording/compute.ts';
import { clipPatches, readClipImage } from '../../blocks/clip-image.ts';
import { configFileOf } from '../../components/component-files.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { Pixels } from '../../calls/image-model.ts';
import { Scope } from '../../recording/scope.ts';

const ADAPTER = 'ip_adapter';
const ENCODER = 'image_encoder';

export class ImagePrompts {
  /** Whether the model has an IP-Adapter. */
  readonly isThere: boolean;
  readonly #components: ComponentAccess;
  readonly #unet: UNetConfig;
  readonly #configs: { adapter: IPAdapterConfig; encoder: ClipVisionConfig } | null;

  /** Throws bad_request for an adapter without its encoder, and bad_checkpoint for one of another model. */
  constructor(components: ComponentAccess, unet: UNetConfig) {
    this.#components = components;
    this.#unet = unet;
    this.isThere = components.has(ADAPTER);
    this.#configs = this.isThere ? readConfigs(components, unet) : null;
  }

  /** Throws bad_checkpoint if tensors do not match the configurations. */
  check(): void {
    if (!this.#configs) return;
    this.#components.check(ENCODER, (table) => this.#encoderPage(table));
    this.#components.check(ADAPTER, (table) => this.#adapterPage(table));
  }

  /** Returns keys and values of each cross-attention, [batch, tokens, 2 · channels], the negative prompt's first; `scope` takes them over. */
  async encode(image: Pixels, batch: number, scope: Scope, options: ComputeOptions): Promise<Tensor[]> {
    const { device } = this.#components;
    using parts = new Scope(device);
    const encoded = await this.#encodeImage(image, batch, parts, options);
    const build = (table: WeightTable) => this.#adapterPage(table);
    using adapter = await this.#components.load(ADAPTER, 'image prompt', build, options);
    const [{ shape }] = encoded as [Tensor];
    const made = await compute(device, options, (tape) => {
      const given = encoded.map((one) => one.on(tape));
      const all = batch === 1 ? given[0]! : joinRows(given, [batch, shape[1] as number]);
      return adapter.page.keyValues(adapter.page.tokens(tape, all));
    });
    return made.map((tensor) => scope.hold(tensor));
  }

  /** What the image encoder gives for an image, and in front of it what stands for none. */
  async #encodeImage(image: Pixels, batch: number, parts: Scope, options: ComputeOptions): Promise<Tensor[]> {
    const { device } = this.#components;
    const { encoder: config, adapter } = this.#configs!;
    const wanted = adapter.resampler ? 'states' : 'projected';
    using encoder = await this.#components.load(
      ENCODER,
      'image',
      (table: WeightTable) => this.#encoderPage(table),
      options,
    );
    const encode = async (values: Float32Array<ArrayBuffer>): Promise<Tensor> =>
      parts.hold(await readClipImage(device, encoder.page, config, values, wanted, options));
    const values = clipPatches(image, config);
    const seen = await encode(values);
    if (batch === 1) return [seen];
    // As in diffusers: an embedding of zeros, or the states of an image whose normalized values are zeros.
    if (wanted === 'states') return [await encode(new Float32Array(values.length)), seen];
    const zeros = new Float32Array(seen.columns);
    return [parts.hold(device.tensor('step', 'no image', [1, 1, seen.columns], zeros)), seen];
  }

  #encoderPage(table: WeightTable): ReturnType<typeof clipVision> {
    return clipVision(this.#configs!.encoder, table);
  }

  #adapterPage(table: WeightTable): ReturnType<typeof ipAdapter> {
    return ipAdapter(this.#configs!.adapter, this.#unet, table);
  }
}

function readConfigs(
  components: ComponentAccess,
  unet: UNetConfig,
): { adapter: IPAdapterConfig; encoder: ClipVisionConfig } {
  if (!components.has(ENCODER))
    throw badRequest(
      'an IP-Adapter is given without its image encoder: give a CLIPVisionModelWithProjection as image_encoder in componentPaths',
      'componentPaths',
    );
  const adapter = readIPAdapterConfig(components.get(ADAPTER).config, `${ADAPTER}/config.json`);
  const encoder = readClipVisionConfig(components.get(ENCODER).config, `${ENCODER}/config.json`);
  const wanted = [...unet.down, unet.mid].find((level) => level?.attention)?.attention?.context;
  if (wanted !== adapter.context)
    throw mismatch(
      `${configFileOf(components.get(ADAPTER))}: the IP-Adapter is for texts of ${adapter.context} columns, and the unet reads ${wanted ?? 'none'}: it fits ${modelsOf(adapter.context)}; choose one for this model`,
    );
  const columns = adapter.resampler ? encoder.hidden : encoder.projection;
  if (columns !== adapter.imageColumns)
    throw mismatch(
      `${configFileOf(components.get(ENCODER))}: the image encoder gives ${columns} columns, and the IP-Adapter takes ${adapter.imageColumns}: give the encoder that it was trained with`,
    );
  return { adapter, encoder };
}

/** Models by the columns of the text that their UNets read. */
function modelsOf(context: number): string {
  const known: Readonly<Record<number, string>> = {
    768: 'Stable Diffusion 1',
    1024: 'Stable Diffusion 2',
    2048: 'Stable Diffusion XL',
  };
  return known[context] ?? 'another model';
}

function mismatch(message: string): EngineError {
  return badCheckpoint(message, 'ipAdapterPath');
}
