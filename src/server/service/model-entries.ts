// What a list of models says of an open model, by its kind.

import {
  type EmbeddingModel,
  type ImageModel,
  MODEL_KINDS,
  type TextModel,
  type TranscriptionModel,
} from '../../index.ts';
import { mapSampling, MODEL_SAMPLING } from '../../options/text-request.ts';
import { withoutMissing } from '../body/fields.ts';
import { underFieldNames } from '../body/setting-fields.ts';
import { isOf, type Ready } from './service.ts';

/** The members that models of a kind have beside those of all. */
export function ownEntry(ready: Ready) {
  if (isOf<TextModel>(MODEL_KINDS.text, ready)) return textEntry(ready.model);
  if (isOf<ImageModel>(MODEL_KINDS.image, ready)) return imageEntry(ready.model);
  if (isOf<TranscriptionModel>(MODEL_KINDS.transcription, ready)) return transcriptionEntry(ready.model);
  return isOf<EmbeddingModel>(MODEL_KINDS.embedding, ready) ? embeddingEntry(ready.model) : {};
}

function embeddingEntry({ info }: EmbeddingModel) {
  const { contextLength, dimensions, pooling, classifier } = info;
  const labels = classifier && { labels: classifier.labels };
  return { ...weightsEntry(info), max_model_len: contextLength, dimensions, pooling, ...labels };
}

function transcriptionEntry({ info }: TranscriptionModel) {
  return { ...weightsEntry(info), languages: info.languages };
}

/** The class and the weights of a language model. */
function weightsEntry({
  architecture,
  weightFormats,
}: (TextModel | EmbeddingModel | TranscriptionModel)['info']) {
  return { architecture, weight_formats: weightFormats };
}

function textEntry({ info }: TextModel) {
  const { contextLength, sampling, samplingSource } = info;
  const values = mapSampling((name) => ({ value: sampling[name], source: samplingSource[name] }));
  return {
    ...weightsEntry(info),
    max_model_len: contextLength,
    modalities: ['text', ...info.media],
    sampling_defaults: underFieldNames(values, MODEL_SAMPLING, 'chat'),
  };
}

function imageEntry({ info: { pipeline, sizeMultiple, defaults, schedulers } }: ImageModel) {
  return {
    pipeline,
    size_multiple: sizeMultiple,
    schedulers,
    image_defaults: {
      ...withoutMissing({ num_frames: defaults.frames, fps: defaults.fps }),
      width: defaults.width,
      height: defaults.height,
      num_inference_steps: defaults.steps,
      guidance_scale: defaults.guidance,
      negative_prompt: defaults.negativePrompt,
    },
  };
}
