// A checkpoint that is open, whatever files it has.

import type { Folder } from '../source.ts';
import type { ChatTemplates } from '../template/template.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import type { EmbeddingLayout, Pooling } from './embedding-folder.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';

export interface Checkpoint {
  path: string;
  /** The class that computes it. */
  architecture: string;
  /** The class that config.json names if it wraps the one that is opened; otherwise null. */
  wrapper: Wrapper | null;
  /** What the wrapping class has beside the text model; null: no class wraps it. */
  beside: BesideText | null;
  /** Why a model whose class reads media is opened for text only, where its files say so; null: they do not. */
  towerNote: string | null;
  config: Record<string, unknown>;
  configSource: ConfigSource;
  /** Contents of generation_config.json; {} if it does not exist. */
  generationConfig: Record<string, unknown>;
  /**
   * The reason why generation_config.json is ignored: it is not valid JSON, as in some files that were edited by hand. Or why an end token
   * of a GGUF file is. null: all is used.
   */
  generationConfigProblem: string | null;
  tensors: Map<string, TensorEntry>;
  /** File names of the weights. */
  shards: string[];
  tokenizer(): Promise<Tokenizer>;
  /** Throws where the checkpoint has no tokenizer of a kind that is read, by names alone: nothing is opened. */
  checkTokenizer(): void;
  /** null where the checkpoint has none. */
  chatTemplate: ChatTemplates | null;
  /** How vectors are made of the states of a text; `otherwise`: the pooling of a checkpoint that says nothing. */
  layout(otherwise: Pooling): Promise<EmbeddingLayout>;
  close(): Promise<void>;
}

/** The file that a configuration is from. */
export interface ConfigSource {
  /** config.json, or the name of a GGUF file. */
  name: string;
  /** general.architecture of a GGUF file, with which its keys of the model begin; null: config.json. */
  metadata: string | null;
}

/** Towers beside a text model, and the configurations that they and their processors have. */
export interface BesideText {
  /** All of config.json. */
  config: Record<string, unknown>;
  /** Configurations of processors, by file name. */
  processors: Record<string, Record<string, unknown>>;
  /** Tensors that the text model does not have, by their names without a leading `model.`. */
  tensors: Map<string, TensorEntry>;
  /** The folder, for what else it holds; left out: of a model in one file. */
  folder?: Folder;
  /** The file of the tensors, and the path of its folder; left out: they are in those of the text model. */
  file?: { path: string; name: string };
}

export interface Wrapper {
  architecture: string;
  /** Modules of which nothing is read, and the number of their tensors. */
  left: readonly string[];
  leftTensors: number;
}
