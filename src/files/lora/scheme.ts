// Declarations of the names that LoRAs' files give to the modules of a pipeline's components. A family declares its scheme as a value;
// match.ts reads files by it.

import type { Rename } from '../pipeline/file-layout.ts';

/** Shapes of a component's tensors by the names that pages ask for. */
export type TensorShapes = ReadonlyMap<string, { readonly shape: readonly number[] }>;

/** Names that the original programs of a component give to its modules, where they differ from those of its pages. */
export interface OtherNames {
  rename: Rename;
  /** Parts of those names that have an underscore: names that join their parts by underscores are divided by these. */
  words: readonly string[];
}

export interface LoraTarget {
  /** Name of the component in model_index.json. */
  component: string;
  /** Texts before names that join their parts by dots; '': none. Longer ones come first. */
  dotted: readonly string[];
  /** Texts before names that join their parts by underscores, as kohya's programs write them. */
  flat: readonly string[];
  /** Matches names of files whose LoRAs are for this component alone, of several that have the same modules; left out: it takes those of others. */
  named?: RegExp;
  /** The layer that reads the component's inputs, of which a LoRA may know the first columns only; left out: none is so. */
  input?: string;
  /** `tensors`: those of the component. */
  others?(tensors: TensorShapes): readonly OtherNames[];
}

/** Names and widths that only LoRAs of one family of models have. */
export interface LoraSign {
  /** The models, for messages. */
  models: string;
  /** Matches names of modules, with dots or underscores between their parts. */
  module: RegExp;
  /** Columns of such a module's weight; left out: any number. */
  columns?: number;
  /** Rows of it; left out: any number. */
  rows?: number;
  /** The smaller of both; left out: any number. */
  width?: number;
  /** Range of the highest number of a block, which is the first group of `module`; left out: any number. */
  last?: readonly [number, number];
  /** Whether signs of other models say more. */
  isVague?: true;
}

export interface LoraScheme {
  parts: readonly LoraTarget[];
  signs: readonly LoraSign[];
}
