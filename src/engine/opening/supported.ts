// Lists of what this build opens, from the registries of architectures and formats.

import { METHOD_NAMES } from '../../files/coded/methods.ts';
import { WIDENED_TYPES } from '../../files/pipeline/float8-tensors.ts';
import { CODED_FORMATS } from '../../kernels/coded-formats.ts';
import { QUANTIZED_FORMATS, SOURCES } from '../../kernels/formats.ts';
import { mediaClasses } from '../../models/towers/media-families.ts';
import { EMBEDDING_CLASSES, TEXT_CLASSES, TRANSCRIPTION_CLASSES } from './architectures.ts';

export interface Supported {
  /** Classes of language models, as config.json names them. */
  text: readonly string[];
  /** Classes of language models that also read images, videos or sounds. */
  media: readonly string[];
  /** Classes that make embeddings. */
  embeddings: readonly string[];
  /** Classes that transcribe sounds. */
  transcription: readonly string[];
  /** Classes of diffusers' pipelines. */
  images: readonly string[];
  /** Types of stored tensors, by their names in safetensors and GGUF files. */
  tensorTypes: readonly string[];
  /** Types that only files of image models may have beside those. */
  imageTensorTypes: readonly string[];
  /** Methods of other programs whose quantized safetensors files are computed in their own codes. */
  quantizedBy: readonly string[];
  /** Formats to which weights can be quantized while they are loaded. */
  quantizations: readonly string[];
}

/** Start of the names of blocks that run across the ends of rows, which are stored under the names of their types. */
const FLAT = 'FLAT_';

/** `images`: the classes of the pipelines. */
export const supportedWith = (images: readonly string[]): Supported => ({
  text: TEXT_CLASSES.names,
  media: mediaClasses(),
  embeddings: EMBEDDING_CLASSES.names,
  transcription: TRANSCRIPTION_CLASSES.names,
  images,
  tensorTypes: Object.keys(SOURCES).filter(
    (name) => !(name.toLowerCase() in CODED_FORMATS) && !name.startsWith(FLAT),
  ),
  imageTensorTypes: WIDENED_TYPES,
  quantizedBy: METHOD_NAMES,
  quantizations: QUANTIZED_FORMATS,
});
