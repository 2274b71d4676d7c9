// Declarations of the layouts in which other programs store a pipeline, or one of its components, in one file. A family declares its
// layouts as values; files/pipeline reads files by them.

import type { TensorEntry } from '../tensors/safetensors.ts';

/** Name, type and shape of a tensor, as in its file's header. */
export type FileHeader = Pick<TensorEntry, 'name' | 'dtype' | 'shape'>;
export type FileHeaders = ReadonlyMap<string, FileHeader>;

/** Rows of a tensor under the name that a page asks for. */
export interface NamedRows {
  name: string;
  /** Left out: all rows. */
  rows?: { first: number; count: number };
  /** The tensor holds the matrix [rows, k] column by column, as [k, rows]. */
  isTransposed?: true;
  /** The tensor holds one matrix as [1, rows, k]. */
  isSingle?: true;
}

/** Names that a page asks for in place of the name in a file; [] if pages do not read the tensor. */
export type Rename = (name: string, shape: readonly number[]) => string | readonly NamedRows[];

/** Class and configuration of a component, as config.json has them. */
export interface PartConfig {
  className: string;
  config: Readonly<Record<string, unknown>>;
}

/** A layout of one component in a file. */
export interface PartLayout {
  /** Texts before the names of its tensors, in the order in which they are tried. */
  prefixes: readonly string[];
  /** Names without prefix, all of which a file with this component has. */
  signs: readonly string[];
  /** `headers`: the component's tensors by their names without prefix. */
  names(headers: FileHeaders): Rename;
  /** Reads the configuration from names and shapes, which are those that pages ask for. */
  configure(headers: FileHeaders): PartConfig;
}

/** A file that is opened, for what names and shapes do not tell. */
export interface OpenedFile {
  /** The model's name: that of the file, or the one that the user gave. */
  name: string;
  metadata: Readonly<Record<string, string>>;
  headers: FileHeaders;
  /** Values of a small tensor; null: the file has none of that name. */
  values(name: string): Promise<Float32Array | null>;
}

/** The parts of a pipeline that follow from a file beside the components in it. */
export interface FilePipeline {
  className: string;
  /** Entries of model_index.json that are not components. */
  settings: Readonly<Record<string, unknown>>;
  scheduler: PartConfig;
  /** Values that replace those of configurations, by component. */
  configs?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Components that the pipeline class may have and this model does not have. */
  absent?: readonly string[];
}

/** A tokenizer that stands for the one that files do not hold. */
export interface KnownTokenizer {
  className: string;
  /** The name of a tokenizer that ships, for `find`. */
  shipped: string;
  /** Settings in place of those in tokenizer_config.json. */
  config: Readonly<Record<string, unknown>>;
}

/** The layouts of a family's files. */
export interface FileLayouts {
  /** Component that every file of a model has. */
  denoiser: string;
  /** Layouts by component. */
  parts: Readonly<Record<string, readonly PartLayout[]>>;
  /** Whether a denoiser of this configuration is the family's. */
  accepts(denoiser: PartConfig): boolean;
  /** For families with the denoiser of another: whether the name or marks of a file show this one; left out: the family is the usual one. */
  prefers?(file: OpenedFile): boolean;
  /** Components without weights that are built in, other than schedulers and tokenizers. */
  builtIn?: Readonly<Record<string, PartConfig>>;
  /** Values that configurations have in this family and that shapes do not tell, by component. */
  configs: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  tokenizers: Readonly<Record<string, KnownTokenizer>>;
  /** Throws unsupported for a model that the family does not run. */
  describe(parts: Readonly<Record<string, PartConfig>>, file: OpenedFile): Promise<FilePipeline>;
  /** A repository that has the components which files of the family leave out, for messages. */
  repository: string;
}
