// Images and videos of GLM-OCR and of GLM-4.1V to GLM-4.6V: any size, a token for each cell of merged patches, positions of three parts as in Qwen2-VL.

import { resampleInBands } from '../../../files/image/resample.ts';
import type { Pixels } from '../../../files/image/pixels.ts';
import type { Json } from '../../config-values.ts';
import type { MediaFamily, MediaFiles, MediaModel, Preparation } from '../../media.ts';
import { processorPart } from '../../processor-part.ts';
import { withSections } from '../../text/wrappers.ts';
import { glmVision } from './glm-vision.ts';
import { readGlmVision } from './glm-vision-config.ts';
import { gridMixtures } from '../interpolated-places.ts';
import { prepareFrames, type FramesConfig } from '../qwen/qwen-frames.ts';
import { qwenPlaces } from '../qwen/qwen-places.ts';
import { readQwenProcessorConfig, type QwenProcessorConfig } from '../qwen/qwen-processor-config.ts';
import { glmSize } from './glm-size.ts';
import { glmVideoReader, readGlmVideo } from './glm-video.ts';

const [TOWER, IMAGE] = ['vision', '<|image|>'];

export const GLM_OCR: MediaFamily = {
  classes: ['GlmOcrForConditionalGeneration'],
  text: textOf,
  read: (files) => mediaModel(files, { isOcr: true }),
};

export const GLM_4V: MediaFamily = {
  classes: [
    'Glm4vForConditionalGeneration',
    'Glm46VForConditionalGeneration',
    'Glm4vMoeForConditionalGeneration',
  ],
  text: textOf,
  read: (files) => mediaModel(files, { isOcr: false }),
};

/** Where heads have no stated size, they share the columns of the states; head and embedding are tied where either configuration says so. */
function textOf(stated: Json, outer: Json): Json {
  const tied = [stated, outer].some((one) => one['tie_word_embeddings'] === true);
  const config = { ...stated, tie_word_embeddings: tied };
  const { hidden_size: hidden, num_attention_heads: heads } = stated;
  const isStated = stated['head_dim'] != null || typeof hidden !== 'number' || typeof heads !== 'number';
  const own = isStated ? config : { ...config, head_dim: Math.floor(hidden / heads) };
  return withSections(own, { sections: [8, 12, 12], interleaved: false });
}

function mediaModel({ config, processors }: MediaFiles, form: { isOcr: boolean }): MediaModel {
  const tower = readGlmVision(config, form);
  const vision = { ...tower, window: Infinity, mixtures: gridMixtures };
  const processor = readQwenProcessorConfig(
    processorPart(processors, 'image_processor', 'preprocessor_config.json'),
    { minPixels: 112 * 112, maxPixels: 28 * 28 * 15000 },
  );
  return {
    readers: {
      image: {
        placeholder: IMAGE,
        alpha: 'white',
        prepare: (image) => prepareImage(vision, processor, image),
      },
      video: glmVideoReader(vision, readGlmVideo(processors)),
    },
    towers: { [TOWER]: (weights) => glmVision(tower, weights) },
    spans: false,
    places: qwenPlaces,
  };
}

function* prepareImage(vision: FramesConfig, processor: QwenProcessorConfig, image: Pixels): Preparation {
  const multiple = processor.patch * processor.merge;
  const { width, height } = glmSize(image, processor);
  yield (width * height) / multiple ** 2;
  const seen = yield* resampleInBands(image, width, height, { filter: 'bicubic' });
  const { inputs, rows, columns } = yield* prepareFrames(vision, processor, [seen]);
  return {
    parts: [rows * columns],
    token: IMAGE,
    tower: TOWER,
    inputs,
    layout: null,
    grid: { times: [0], rows, columns },
  };
}
