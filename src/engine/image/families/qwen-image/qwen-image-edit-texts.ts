// Texts of Qwen-Image-Edit: the last states of Qwen2.5-VL for an instruction in a fixed template that shows it the images, without the
// states of the template's beginning. The tower leaves the device before the language model is loaded.

import { resample } from '../../../../files/image/resample.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { joinRows } from '../../../../kernels/copy-rows.ts';
import { readConfig } from '../../../../models/config-values.ts';
import { multimodalText } from '../../../../models/text/wrappers.ts';
import type { Tower } from '../../../../models/media.ts';
import { readQwenProcessorConfig } from '../../../../models/vision/qwen/qwen-processor-config.ts';
import { qwenPlaces } from '../../../../models/vision/qwen/qwen-places.ts';
import { readQwenVisionConfig } from '../../../../models/vision/qwen/qwen-vision-config.ts';
import { visionLayout, type VisionGrid } from '../../../../models/vision/qwen/qwen-vision-layout.ts';
import { visionPatches } from '../../../../models/vision/qwen/qwen-vision-patches.ts';
import { qwenVision } from '../../../../models/vision/qwen/qwen-vision.ts';
import { smartSize } from '../../../../models/vision/smart-size.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import type { StatesText } from '../../../text/step/hidden-states.ts';
import { compute, computeFinite, type ComputeOptions } from '../../recording/compute.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { Pixels } from '../../calls/image-model.ts';
import { Scope } from '../../recording/scope.ts';
import { checkDecoder, ENCODER, readDecoder } from '../../blocks/decoder-texts.ts';
import { QWEN, type QwenTexts } from './qwen-image-model.ts';

/** Tokens of the template before the images, whose states are left out. */
const DROPPED = 64;
const SYSTEM =
  "Describe the key features of the input image (color, shape, size, texture, objects, background), then explain how the user's text instruction should alter or modify the image. Generate a new image that meets the user's requirements while maintaining consistency with the original input where appropriate.";
const BEFORE = `<|im_start|>system\n${SYSTEM}<|im_end|>\n<|im_start|>user\n`;
const AFTER = '<|im_end|>\n<|im_start|>assistant\n';
const READING = { ...QWEN, half: multimodalText };
/** Id of the token in whose place an image's rows stand, where the configuration states none. */
const IMAGE_TOKEN = 151655;

/** `label`: the words before the image of an index. */
export function textsWithImages(components: ComponentAccess, label: (index: number) => string): QwenTexts {
  return {
    async check() {
      const page = towerPage(components);
      readProcessor(components);
      imageToken(components);
      components.check(ENCODER, page);
      await checkDecoder(components, READING);
    },
    async encode(texts, { references, options }, check) {
      using scope = new Scope(components.device);
      const images = await embedImages(components, references, options);
      const embeddings = scope.hold(images.embeddings);
      const tokenizer = await components.tokenizer('tokenizer');
      const idsOf = (text: string): number[] => tokenizer.encode(text, { addSpecialTokens: false });
      const shown = { embeddings, grids: images.grids, token: imageToken(components) };
      const prompts = texts.map((text) => promptOf(text, shown, label, idsOf));
      prompts.forEach(({ ids }, i) => check(ids.length - DROPPED, i));
      return await readDecoder(components, READING, { texts: prompts, dropped: DROPPED, options });
    },
  };
}

/** Rows of all images for the language model, and the cells of each. */
interface ShownImages {
  embeddings: Tensor;
  grids: readonly VisionGrid[];
  /** Id of the token in whose place an image's rows stand. */
  token: number;
}

/** A text ends at the special tokens around an image, so that its parts are tokenized alone as they would be together. */
function promptOf(
  text: string,
  { embeddings, grids, token }: ShownImages,
  label: (index: number) => string,
  idsOf: (text: string) => number[],
): StatesText {
  const ids: number[] = [];
  let words = BEFORE;
  let input = 0;
  const images = grids.map(({ rows, columns }, i) => {
    ids.push(...idsOf(`${words}${label(i)}<|vision_start|>`));
    const run = { first: ids.length, end: ids.length + rows * columns, input };
    ids.push(...Array<number>(rows * columns).fill(token));
    words = '<|vision_end|>';
    input += rows * columns;
    return { run, placed: { runs: [run], grid: { times: [0], rows, columns } } };
  });
  ids.push(...idsOf(`${words}${text}${AFTER}`));
  const places = qwenPlaces(
    ids.length,
    images.map(({ placed }) => placed),
  );
  return {
    ids,
    images: { embeddings, runs: images.map(({ run }) => run) },
    place: (at) => places[at]!,
  };
}

function imageToken(components: ComponentAccess): number {
  const { name, config } = components.get(ENCODER);
  return readConfig(`${name}/config.json`, config).count('image_token_id', IMAGE_TOKEN);
}

function readProcessor(components: ComponentAccess) {
  const { name, config } = components.get('processor');
  const whole = readConfig(`${name}/preprocessor_config.json`, config);
  return readQwenProcessorConfig('image_processor' in config ? whole.part('image_processor') : whole);
}

function towerPage(components: ComponentAccess): (table: WeightTable) => Tower {
  const { name, config } = components.get(ENCODER);
  const vision = readQwenVisionConfig(config, `${name}/config.json`);
  return (table) => qwenVision(vision, table);
}

/** Runs the tower on each image. `grids` are in cells; the caller frees the embeddings. */
async function embedImages(
  components: ComponentAccess,
  images: readonly Pixels[],
  options: ComputeOptions,
): Promise<Pick<ShownImages, 'embeddings' | 'grids'>> {
  const { device } = components;
  using tower = await components.load(ENCODER, 'vision', towerPage(components), options);
  using inputs = new Scope(device);
  const rows: Tensor[] = [];
  const grids: VisionGrid[] = [];
  for (const image of images) {
    using given = new Scope(device);
    const { grid, input } = prepareImage(components, image, given);
    grids.push(grid);
    const [row] = await computeFinite(device, options, 'the vision tower', (tape) => {
      const { patches, rotations, places, groups } = input;
      const on = { patches: patches.on(tape), rotations: rotations.on(tape), places: places.on(tape) };
      return tower.page(on, groups);
    });
    rows.push(inputs.hold(row!));
  }
  const count = rows.reduce((sum, { shape }) => sum + (shape[1] as number), 0);
  const [embeddings] = await compute(device, options, (tape) => [
    joinRows(
      rows.map((one) => one.on(tape)),
      [count],
    ),
  ]);
  return { embeddings: embeddings!, grids };
}

/** Uploads the patches of an image as the tower sees it; `scope` owns the tensors. */
function prepareImage(components: ComponentAccess, image: Pixels, scope: Scope) {
  const { device } = components;
  const processor = readProcessor(components);
  const { config } = components.get(ENCODER);
  const vision = readQwenVisionConfig(config);
  const { patch, merge, minPixels, maxPixels } = processor;
  const { width, height } = smartSize(image, { multiple: patch * merge, minPixels, maxPixels });
  const seen = resample(image, width, height, { filter: 'bicubic' });
  const layout = visionLayout(vision, { rows: height / patch, columns: width / patch });
  const values = visionPatches(processor, layout, seen);
  const count = layout.patches.length;
  const tensor = (label: string, shape: number[], data: Float32Array | Uint32Array): Tensor =>
    scope.hold(device.tensor('step', label, shape, data));
  return {
    grid: { rows: height / patch / merge, columns: width / patch / merge },
    input: {
      patches: tensor('patches of an image', [1, count / merge, merge, values.length / count], values),
      rotations: tensor('rotations of patches', [count, vision.dims], layout.rotations),
      places: tensor('places of patches', [count], layout.places),
      groups: layout.groups,
    },
  };
}
