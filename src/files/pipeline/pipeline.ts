// A pipeline of files: its class, and where its components are.

import type { Weights } from '../checkpoint/shards.ts';
import type { Folder } from '../source.ts';
import type { EmbeddedWord } from './embedded-words.ts';
import type { ComponentClasses } from './pipeline-classes.ts';

export interface PipelineComponent {
  name: string;
  className: string;
  kind: ComponentClasses['kind'];
  folder: Folder;
  /**
   * Contents of config.json, of scheduler_config.json for a scheduler, or of tokenizer_config.json for a tokenizer; {} for a
   * tokenizer without one.
   */
  config: Record<string, unknown>;
  /** Path of the file whose tensors, or keys, imply `config`; left out: `config` is read from a file of its own. */
  impliedBy?: string;
  /** Whether `folder` has its tokenizer, as GGUF files of language models do. */
  hasTokenizer?: true;
  /** Opens its weights where they are in a file with other names or components; left out: they are files of `folder`. */
  weights?: () => Promise<Weights>;
}

export interface Pipeline {
  path: string;
  className: string;
  /** Components that the pipeline class computes with; the ones that it needs are always there. */
  components: Readonly<Record<string, PipelineComponent>>;
  /** Components of model_index.json that this pipeline class does not use, with their classes. */
  unused: Readonly<Record<string, string>>;
  /** The other entries of model_index.json, as `force_zeros_for_empty_prompt`. */
  settings: Readonly<Record<string, unknown>>;
  /** Words of prompts with embeddings of their own; left out: none. */
  words?: readonly EmbeddedWord[];
  /** The layer that a LoRA widens; left out: none. */
  widened?: WidenedLayer;
  /** Remarks for the user about its files. */
  notes: readonly string[];
}

/** A matrix that has more columns than its file stores. */
export interface WidenedLayer {
  component: string;
  tensor: string;
  columns: number;
  /** Name of the LoRA. */
  by: string;
}

export interface PipelineOptions {
  /** Component → what stands for it: its folder, or that of a pipeline that has it, or anything that `find` makes one of. */
  componentPaths?: Readonly<Record<string, string>>;
  /** Asked only for components that the pipeline has. */
  find?: (model: string, component: string) => Promise<string>;
  pipelineClassName?: string;
  modelId?: string;
}
