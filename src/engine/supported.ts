// Lists of what this build opens, from the registries of architectures, families and formats.

import { QUANTIZED_FORMATS, SOURCES } from '../kernels/formats.ts';
import { EMBEDDING_CLASSES, TEXT_CLASSES } from './architectures.ts';
import { PIPELINE_CLASSES } from './image/families/class-names.ts';

export interface Supported {
  /** Classes of language models, as config.json names them. */
  text: readonly string[];
  /** Classes that make embeddings. */
  embeddings: readonly string[];
  /** Classes of diffusers' pipelines. */
  images: readonly string[];
  /** Types of stored tensors, by their names in safetensors and GGUF files. */
  tensorTypes: readonly string[];
  /** Formats to which weights can be quantized while they are loaded. */
  quantizations: readonly string[];
}

export const SUPPORTED: Supported = {
  text: TEXT_CLASSES.names,
  embeddings: EMBEDDING_CLASSES.names,
  images: Object.keys(PIPELINE_CLASSES),
  tensorTypes: Object.keys(SOURCES),
  quantizations: QUANTIZED_FORMATS,
};
