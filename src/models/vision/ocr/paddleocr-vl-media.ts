// Images of PaddleOCR-VL: a size near their own, a token for each cell of merged patches, positions of three parts as in Qwen2-VL.

import { resampleInBands } from '../../../files/image/resample.ts';
import type { Pixels } from '../../../files/image/pixels.ts';
import { isJsonObject, type Json } from '../../config-values.ts';
import type { MediaFamily, Preparation } from '../../media.ts';
import { withSections } from '../../text/wrappers.ts';
import { linearMixtures } from '../interpolated-places.ts';
import { paddleVision, type PaddleGrid } from './paddleocr-vl.ts';
import { readPaddleOcr } from './paddleocr-vl-config.ts';
import { prepareFrames, type FramesConfig } from '../qwen/qwen-frames.ts';
import { qwenPlaces } from '../qwen/qwen-places.ts';
import type { QwenProcessorConfig } from '../qwen/qwen-processor-config.ts';
import { roundHalfEven, smartSize } from '../smart-size.ts';

const [TOWER, IMAGE] = ['vision', '<|IMAGE_PLACEHOLDER|>'];

export const PADDLE_OCR_VL: MediaFamily = {
  classes: ['PaddleOCRVLForConditionalGeneration'],
  text: textOf,
  read(files) {
    const { tower, processor } = readPaddleOcr(files);
    // Patches are in rows; cells are merged behind the layers.
    const vision = { ...tower, merge: 1, window: Infinity, mixtures: linearMixtures };
    return {
      readers: {
        image: {
          placeholder: IMAGE,
          alpha: 'white',
          prepare: (image) => prepareImage(vision, processor, image),
        },
      },
      towers: { [TOWER]: (weights) => paddleVision(tower, weights) },
      spans: false,
      places: qwenPlaces,
    };
  },
};

/** Head and embedding are tied where either configuration says so. */
function textOf(config: Json, outer: Json): Json {
  const inner = outer['text_config'];
  const tied = config['tie_word_embeddings'] === true;
  const { use_bias: bias = false } = config;
  return withSections(
    {
      ...config,
      ...{ attention_bias: bias, mlp_bias: bias },
      tie_word_embeddings: tied || (isJsonObject(inner) && inner['tie_word_embeddings'] === true),
    },
    { sections: [16, 24, 24], interleaved: false },
  );
}

function* prepareImage(vision: FramesConfig, processor: QwenProcessorConfig, image: Pixels): Preparation {
  const { patch, merge, minPixels, maxPixels } = processor;
  const multiple = patch * merge;
  const bounds = { multiple, minPixels, maxPixels, stated: image };
  const { width, height } = smartSize(atLeast(image, multiple), bounds);
  const [rows, columns] = [height / multiple, width / multiple];
  yield rows * columns;
  const seen = yield* resampleInBands(image, width, height, { filter: 'bicubic' });
  const { inputs } = yield* prepareFrames(vision, processor, [seen]);
  return {
    parts: [rows * columns],
    token: IMAGE,
    tower: TOWER,
    inputs,
    layout: { rows: height / patch, columns: width / patch } satisfies PaddleGrid,
    grid: { times: [0], rows, columns },
  };
}

/** A side that is shorter than a cell grows to one, and the other with it. */
function atLeast({ width, height }: Pick<Pixels, 'width' | 'height'>, cell: number) {
  const tall =
    height < cell ? { width: roundHalfEven((width * cell) / height), height: cell } : { width, height };
  return tall.width < cell ? { width: cell, height: roundHalfEven((tall.height * cell) / tall.width) } : tall;
}
