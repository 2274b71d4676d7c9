// Parts that layouts of models in one file share: prefixes of components, pairs of original names and those of diffusers, and the values
// that most files leave unsaid.

import type {
  FileHeaders,
  FileLayouts,
  NamedRows,
  PartConfig,
  PartLayout,
  Rename,
} from '../../../files/pipeline/file-layout.ts';
import { equalRows } from '../../../files/pipeline/renamed-tensors.ts';

export const TRANSFORMER_PREFIXES = ['model.diffusion_model.', 'diffusion_model.', 'transformer.', ''];
export const AUTOENCODER_PREFIXES = ['first_stage_model.', 'vae.', ''];

/** Prefixes of a text encoder. `originals`: ComfyUI's names of it. */
export const encoderPrefixes = (component: string, ...originals: string[]): string[] => [
  ...originals.flatMap((name) => [`text_encoders.${name}.transformer.`, `text_encoders.${name}.`]),
  `${component}.`,
  '',
];

/** Modules with the same tensors under another name, and that name. */
export type ModuleNames = readonly (readonly [module: RegExp, name: string])[];

/** Returns a name with all modules renamed, in their order. */
export const renamedModules = (modules: ModuleNames, name: string): string =>
  modules.reduce((renamed, [module, other]) => renamed.replace(module, other), name);

/** Names of queries, keys and values that stand in one tensor, whose name `of` gives for each. */
export const queriesKeysValues = (
  of: (part: 'q' | 'k' | 'v') => string,
  shape: readonly number[],
): NamedRows[] => equalRows((['q', 'k', 'v'] as const).map(of), shape);

/** A component with the names of an original program, or with those of diffusers. */
export function bothLayouts(declared: {
  prefixes?: readonly string[];
  /** Names by which each is known. */
  original: readonly string[];
  diffusers: readonly string[];
  /** Names of the original program; a function of the headers where these decide. */
  rename: Rename | { of(headers: FileHeaders): Rename };
  configure(headers: FileHeaders): PartConfig;
}): PartLayout[] {
  const { prefixes = TRANSFORMER_PREFIXES, original, diffusers, rename, configure } = declared;
  const names = (headers: FileHeaders): Rename =>
    typeof rename === 'function' ? rename : rename.of(headers);
  return [
    { prefixes, signs: original, names, configure },
    { prefixes, signs: diffusers, names: () => (name) => name, configure },
  ];
}

type Optional = 'denoiser' | 'accepts' | 'configs' | 'tokenizers';

/** Layouts of a family with a transformer, each of whose configurations is the family's unless `accepts` says otherwise. */
export const fileLayouts = (
  declared: Omit<FileLayouts, Optional> & Partial<Pick<FileLayouts, Optional>>,
): FileLayouts => ({
  denoiser: 'transformer',
  accepts: () => true,
  configs: {},
  tokenizers: {},
  ...declared,
});

/** The schedule of flow models. */
export const flowSchedule = (config: Readonly<Record<string, unknown>>): PartConfig => ({
  className: 'FlowMatchEulerDiscreteScheduler',
  config: { num_train_timesteps: 1000, ...config },
});

/** A schedule that shifts by the size of an image. */
export const DYNAMIC_SHIFT = {
  shift: 3,
  use_dynamic_shifting: true,
  base_shift: 0.5,
  max_shift: 1.15,
  base_image_seq_len: 256,
  max_image_seq_len: 4096,
};
