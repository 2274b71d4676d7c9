// Images of a clip's first and last frame in Wan: states of CLIP's vision encoder to which tokens attend, a mask and the encoded clip in
// further channels, or the first frame of latents itself.

import { badCheckpoint, unsupported } from '../../../../files/error.ts';
import type { Tape } from '../../../../gpu/tape.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { concat } from '../../../../kernels/concat.ts';
import { joinRows } from '../../../../kernels/copy-rows.ts';
import type { WanConfig } from '../../../../models/image/clips/wan-config.ts';
import type { Wan } from '../../../../models/image/clips/wan.ts';
import { clipVision } from '../../../../models/vision/clip-vision.ts';
import { readClipVisionConfig } from '../../../../models/vision/clip-vision-config.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import { clipPatches, readClipImage } from '../../blocks/clip-image.ts';
import type { FrameImages, RunRequest } from '../../blocks/family.ts';
import { behindFirst } from '../../blocks/first-frame.ts';
import { conditionOnce, type TransformerRequest } from '../../blocks/transformer-model.ts';
import type { ComponentAccess } from '../../components/components.ts';
import { compute } from '../../recording/compute.ts';
import { Scope } from '../../recording/scope.ts';

const ENCODER = 'image_encoder';
/** The class that has no projection, which is not read. */
const PLAIN_ENCODER = 'CLIPVisionModel';

/**
 * Returns the images that a model takes; null: none. `replaces`: whether an image takes the place of the first frame of latents. Throws
 * unsupported for other inputs.
 */
export function frameImagesOf(
  { inputs, channels, image }: WanConfig,
  { framesPerLatent, replaces }: { framesPerLatent: number; replaces: boolean },
): FrameImages | null {
  if (replaces && inputs === channels) return { first: 'may', last: 'never', encoded: 'image' };
  if (inputs === 2 * channels + framesPerLatent) {
    const last = image === null ? 'may' : image.places === null ? 'never' : 'must';
    return { first: 'must', last, encoded: 'clip' };
  }
  if (inputs === channels) return null;
  throw unsupported(
    `transformer/config.json: in_channels is ${inputs}, and ${channels} are denoised: models with ${channels} draw from a text, and those with ${2 * channels + framesPerLatent} from images; choose one of them`,
    'in_channels',
  );
}

/** The vision encoder of a pipeline. */
export class WanImageEncoder {
  readonly #components: ComponentAccess;

  constructor(components: ComponentAccess) {
    this.#components = components;
  }

  /** Throws bad_checkpoint for an encoder that is not there, or whose states are not those that the transformer reads. */
  check({ dims }: NonNullable<WanConfig['image']>): void {
    if (!this.#components.has(ENCODER))
      throw badCheckpoint(
        `the transformer reads states of an image, and model_index.json names no ${ENCODER}: take the whole pipeline`,
        'model_index.json',
      );
    const { hidden } = this.#config;
    if (hidden !== dims)
      throw badCheckpoint(
        `transformer/config.json: image_dim is ${dims}, and the states of ${ENCODER} have ${hidden} columns: take the image encoder of the same pipeline`,
        'image_dim',
      );
    this.#components.check(ENCODER, (table) => this.#page(table));
  }

  /** Returns the states of all images of a request, [1, tokens, columns]; the caller frees them. */
  async read({ references, options }: RunRequest): Promise<Tensor> {
    const { device } = this.#components;
    const config = this.#config;
    using encoder = await this.#components.load(ENCODER, 'image', (table) => this.#page(table), options);
    using inputs = new Scope(device);
    const states: Tensor[] = [];
    for (const image of references) {
      const values = clipPatches(image, config);
      states.push(inputs.hold(await readClipImage(device, encoder.page, config, values, 'states', options)));
    }
    const tokens = states.reduce((sum, { shape }) => sum + (shape[1] as number), 0);
    const [joined] = await compute(device, options, (tape) => [
      joinRows(
        states.map((one) => one.on(tape)),
        [1, tokens],
      ),
    ]);
    return joined!;
  }

  get #config() {
    return readClipVisionConfig(this.#components.get(ENCODER).config, `${ENCODER}/config.json`);
  }

  #page(table: WeightTable): ReturnType<typeof clipVision> {
    const projects = this.#components.get(ENCODER).className !== PLAIN_ENCODER;
    return clipVision(this.#config, table, { projects });
  }
}

/** How the latents of a step become the transformer's input. */
export interface WanInput {
  /** The latents on a tape → [frames, height, width, inputs] */
  on(tape: Tape): Tensor;
  /** Latents of the first frame, which is not noised; null: all are. */
  firstFrame: Tensor | null;
}

/** `scope` owns what the input is made of. */
export async function prepareInput(
  given: TransformerRequest<Wan>,
  { inputs, channels }: WanConfig,
  scope: Scope,
): Promise<WanInput> {
  const { latents, references } = given;
  const [encoded] = references;
  const plain: WanInput = { on: (tape) => latents.on(tape), firstFrame: null };
  if (!encoded) return plain;
  if (inputs === channels) {
    return { on: (tape) => behindFirst(encoded.on(tape), latents.on(tape)), firstFrame: encoded };
  }
  const mask = uploadMask(given, inputs - 2 * channels, scope);
  const extra = await conditionOnce(given, scope, (tape) => concat(mask.on(tape), encoded.on(tape)));
  return { ...plain, on: (tape) => concat(latents.on(tape), extra.on(tape)) };
}

/** 1 for each frame of the clip whose image is given, a channel for each that a frame of latents stands for, and for all of those the first. */
function uploadMask(
  { device, latents, request }: TransformerRequest<Wan>,
  channels: number,
  scope: Scope,
): Tensor {
  const [frames, height, width] = latents.shape as [number, number, number];
  const values = new Float32Array(frames * height * width * channels);
  values.fill(1, 0, height * width * channels);
  const hasLast = request.references.length > 1;
  if (hasLast)
    for (let at = (frames - 1) * height * width * channels; at < values.length; at += channels)
      values[at + channels - 1] = 1;
  return scope.hold(device.tensor('step', 'given frames', [frames, height, width, channels], values));
}
