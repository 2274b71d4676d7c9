// Declarations of pipeline classes for the reader of model_index.json. The engine declares one value per family and passes them as
// an argument; files/ names no family itself.

import type { KnownClasses } from '../checkpoint/architecture.ts';
import type { GgufTower } from '../gguf/tower.ts';
import type { FileLayouts, PartLayout } from './file-layout.ts';

/** The inputs that a pipeline class makes an image from: a text alone, a text and an image, or a text, an image and a mask. */
export type PipelineTask = 'text-to-image' | 'image-to-image' | 'inpainting';

export type Library = 'diffusers' | 'transformers';

/** A component of a pipeline class. */
export interface ComponentClasses {
  /**
   * Files it consists of: a model has config.json and weights, a tokenizer may have no configuration, a scheduler has
   * scheduler_config.json, a guider guider_config.json, a processor of images preprocessor_config.json or processor_config.json.
   */
  kind: 'model' | 'tokenizer' | 'scheduler' | 'guider' | 'processor';
  library: Library;
  /**
   * Built-in classes; null: any class whose name has the suffix of its kind, because the schedules themselves choose among
   * schedulers.
   */
  classes: readonly string[] | null;
  /** The pipeline also runs without it. */
  optional?: true;
  /** The user may give several, the further ones under names with a number. */
  several?: true;
  /** It is read only if the user gives it, whatever model_index.json names. */
  onlyGiven?: true;
  /** Name under which it is declared, where its own has a number. */
  base?: string;
  /** A folder that repositories have beside it, where those of other classes have a component of its name that is not read. */
  beside?: string;
  /** What it does beside the pipeline's denoiser and autoencoder; left out: a model encodes texts. */
  role?: 'denoiser' | 'image encoder' | 'upscaler' | 'autoencoder';
  /** Layouts of it in a file of its own, in any family; left out: those of the family. */
  layouts?: readonly PartLayout[];
  /** Classes that are refused with a specific reason, which follows "which" in messages. */
  refused?: Readonly<Record<string, string>>;
}

export type PipelineComponents = Readonly<Record<string, ComponentClasses>>;

/** A pipeline class that is built in. */
export interface PipelineClass {
  /** Name of its family. */
  family: string;
  task: PipelineTask;
  /** Classes that do the other tasks with the same components. */
  variants: Readonly<Partial<Record<PipelineTask, string>>>;
  components: PipelineComponents;
  /** Layouts of its models and components in one file; left out: none is known. */
  layouts?: FileLayouts;
}

/** A group of pipeline classes that are not built in. */
export interface UnbuiltPipelines {
  /** Matches their class names. */
  classes: RegExp;
  /** Their purpose; follows "which" in messages. */
  purpose: string;
  /** Whether their denoiser requires an input that no built-in class provides. */
  needsInput?: true;
}

/** A kind of files that are not built in. */
export interface UnbuiltFiles {
  /** Patterns, each of which matches the name of a tensor. */
  signs: readonly RegExp[];
  /** Contents of such a file; follows "is" in messages. */
  holds: string;
}

/** Everything that is known about pipeline classes. */
export interface KnownPipelines {
  classes: ReadonlyMap<string, PipelineClass>;
  /** Components that do not affect the image, with the pattern of their classes: they are not read and may be missing. */
  unread: ReadonlyMap<string, RegExp>;
  /** The first whose pattern matches describes a class. */
  unbuilt: readonly UnbuiltPipelines[];
  /** Layouts of the families' files, in the order in which they are tried. */
  layouts: readonly FileLayouts[];
  /** The first whose signs are found describes a file. */
  unbuiltFiles: readonly UnbuiltFiles[];
  /** Tensors of files that take no part in drawing. */
  unreadTensors: RegExp;
  /** Classes of language models. */
  text: KnownClasses;
  /** Vision towers that GGUF files have beside language models. */
  towers: readonly GgufTower[];
  /** Task that follows from the name of a class, whether or not the class is built in. */
  taskOf(className: string): PipelineTask;
  /** Returns the text-to-image class of the family that a model's id names; null if it names none. */
  classOfModelId(id: string): string | null;
}

/** Names of the components of pipelines, by what the engine takes of them from a hub. */
export interface PipelineFolders {
  /** Components whose weights are read; a repository may contain further autoencoders and image encoders. */
  weights: ReadonlySet<string>;
  /** Those of `weights` that another model's component often replaces: a repository may have them in a format that is not read. */
  replaceable: ReadonlySet<string>;
  /** Components of `unread` that are read all the same where a repository has such a folder beside them; left out: none. */
  beside?: ReadonlyMap<string, string>;
  /** Components of which no file is read; the safety checker of Stable Diffusion 1 alone has 1.2 GB. */
  unread: ReadonlySet<string>;
}

/** No component is known: the weights of all folders are taken. */
export const NO_FOLDERS: PipelineFolders = { weights: new Set(), replaceable: new Set(), unread: new Set() };

/** The first class of each family, for messages that need not list all. */
export function mainNamesOf({ classes }: KnownPipelines): string {
  const all = [...classes];
  const first = all.filter(
    ([, { family }], i) => all.findIndex(([, other]) => other.family === family) === i,
  );
  return `${first.map(([name]) => name).join(', ')} and their classes for other tasks`;
}

export const namesOf = ({ classes }: KnownPipelines): string => [...classes.keys()].join(', ');
