// A LoRA that is opened for a pipeline: the tensors of its components that it changes, and what its names say of the steps that it was
// trained for. LoRAs for other models are refused with the name of those that they fit.

import { countText } from '../../../files/count-text.ts';
import { badRequest, unsupported } from '../../../files/error.ts';
import { openImageLora, type ImageLora } from '../../../files/lora/image-lora.ts';
import type { LoraScheme, LoraSign } from '../../../files/lora/scheme.ts';
import { matchLora, signOf, type Change, type Match } from '../../../files/lora/match.ts';
import type { Folder } from '../../../files/source.ts';
import type { TensorEntry } from '../../../files/tensors/safetensors.ts';
import { SOURCES, sourceNames } from '../../../kernels/formats.ts';
import { takesSums } from '../../weights/beside.ts';
import { entriesOfChange } from '../../weights/change.ts';
import { rankOfDelta } from '../../weights/low-rank.ts';
import type { Components } from '../components/components.ts';
import type { ImageFamily } from '../blocks/family.ts';
import { fewStepsOf, type FewSteps } from './few-step-loras.ts';

/** The pipeline that LoRAs are for. */
export interface LoraTarget {
  family: ImageFamily;
  /** All families, whose LoRAs are told apart by their names. */
  families: readonly ImageFamily[];
  components: Pick<Components, 'filesOf' | 'has'>;
}

export interface OpenLora {
  /** Name in prompts and requests. */
  readonly name: string;
  readonly file: ImageLora;
  /** Changes by component and tensor. */
  readonly changes: ReadonlyMap<string, ReadonlyMap<string, readonly Change[]>>;
  /** Settings that the LoRA was trained for, with the name that shows them; null: none. */
  readonly fewSteps: { settings: FewSteps; name: string } | null;
  /** Names of modules that the model does not have. */
  readonly unmatched: readonly string[];
}

export interface LoraGiven {
  /** Path or hub id, as the user gave it. */
  given: string;
  name: string;
  /** Parts of the names of modules that may be changed; left out: all may. */
  targets: readonly string[] | undefined;
  /** The folder of PEFT's file, where that is given alone. */
  beside?: Folder | undefined;
}

/** Opens the LoRA in a folder. The caller closes its file. Throws bad_checkpoint, unsupported, bad_request and model_not_found. */
export async function openLora(
  folder: Folder,
  { given, name, targets, beside }: LoraGiven,
  { family, families, components }: LoraTarget,
): Promise<OpenLora> {
  const file = await openImageLora(folder, beside);
  try {
    if (!family.lora)
      throw unsupported(
        `${file.path} is a LoRA, which models of the family ${family.name} do not take yet: merge it into the model's weights, or leave it out`,
        'loraPath',
      );
    const parts = partsFor([file.name, name, given], family.lora, components);
    const match = matchLora(
      file,
      parts.map((part) => ({ ...part, tensors: components.filesOf(part.component).tensors })),
    );
    refuseOther(file, match, family, families);
    const changes = targeted(match.changes, targets);
    if (changes.size === 0)
      throw badRequest(
        `${file.path} changes no module with ${targets!.join(' or ')} in its name: name others, or none for all`,
        'loraTargetModules',
      );
    refuseTypes(file, changes);
    refuseCodes(file, changes, components);
    const fewSteps = fewStepsOf(file, [file.name, name, given]);
    return { name, file, changes, fewSteps, unmatched: match.unmatched };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Signs of LoRA for models of no built-in family, so that a refusal can name what it fits. */
const UNBUILT_LORAS: readonly LoraSign[] = [
  {
    models: 'HunyuanVideo',
    module: /(?:double_blocks\.\d+\.(?:img|txt)_attn_(?:qkv|proj)$|individual_token_refiner)/,
  },
  // The names of FLUX.1, in one block more.
  {
    models: 'HunyuanVideo',
    module: /double_blocks[._](\d+)[._](?:img|txt)_attn[._]/,
    width: 3072,
    last: [19, 19],
  },
  { models: 'AuraFlow', module: /joint_transformer_blocks[._]\d+[._]/ },
];

/** The components whose modules a LoRA with these names may change. */
function partsFor(
  names: readonly string[],
  { parts }: LoraScheme,
  components: LoraTarget['components'],
): LoraScheme['parts'] {
  const there = parts.filter(({ component }) => components.has(component));
  const meant = there.filter(({ named }) => names.some((name) => named?.test(name)));
  return meant.length > 0 ? meant : there.filter(({ named }) => named === undefined);
}

function refuseOther(
  file: ImageLora,
  { changes, misfit, unmatched }: Match,
  family: ImageFamily,
  families: LoraTarget['families'],
): void {
  const own = family.lora?.signs ?? [];
  const known = families.flatMap(({ lora }) => lora?.signs ?? []);
  const sign = signOf(file, [...known, ...UNBUILT_LORAS]);
  // Families share text encoders, and names of some modules of their denoisers.
  const isOther = sign !== null && !sign.isVague && !own.includes(sign) && unmatched.length > 0;
  const isWhole = changes.has(family.denoiser) || (changes.size > 0 && unmatched.length === 0);
  if (isWhole && misfit === null && !isOther) return;
  const problem = misfit
    ? `changes ${misfit.module} with ${misfit.given.join(' × ')} weights, and the model has ${misfit.wanted.join(' × ')}`
    : `changes ${countText(unmatched.length, 'module')} that this model does not have: ${shortList(unmatched)}`;
  if (misfit && isWidened(misfit))
    throw unsupported(
      `${file.path} ${problem}: it widens the model for an image beside the latents, which is done ${family.widening ? 'while the model is opened: give it with the model' : `for models of the family flux alone, and this is a model of the family ${family.name}: choose a LoRA for it`}`,
      'loraPath',
    );
  const fits = sign === null ? 'it was trained on another model' : `it fits ${sign.models}`;
  throw unsupported(
    `${file.path} ${problem}; ${fits}, and this is a model of the family ${family.name}: choose a LoRA for it`,
    'loraPath',
  );
}

/** Names of layers that read latents. */
const INPUT_LAYER = /(?:^|[._])(?:x_embedder|img_in|conv_in)$/;

function isWidened({ module, given, wanted }: NonNullable<Match['misfit']>): boolean {
  return INPUT_LAYER.test(module) && given[0] === wanted[0] && given[1]! > wanted[1]!;
}

const MOST_NAMED = 3;

/** The first of many names. */
export function shortList(names: readonly string[]): string {
  const named = names.slice(0, MOST_NAMED).map((name) => name.slice(0, 128));
  return `${named.join(', ')}${names.length > MOST_NAMED ? ' …' : ''}`;
}

/** A note on the modules of a LoRA that its model does not have; null: it has all. */
export function unmatchedNote({ file, unmatched }: Pick<OpenLora, 'file' | 'unmatched'>): string | null {
  if (unmatched.length === 0) return null;
  const missing = new Set(unmatched);
  const matched = file.modules.filter(({ name }) => !missing.has(name)).length;
  if (matched >= unmatched.length)
    return `${file.path} also changes ${countText(unmatched.length, 'module')} that this model does not have, which are left out: ${shortList(unmatched)}`;
  return `${file.path} is mostly left out: it changes ${countText(matched, 'module')} of this model, and ${unmatched.length} that this model does not have: ${shortList(unmatched)}; it was probably trained on another model, and images may show little of it`;
}

function targeted(changes: OpenLora['changes'], targets: readonly string[] | undefined): OpenLora['changes'] {
  if (targets === undefined || targets.length === 0) return changes;
  const isTarget = ([name]: readonly [string, unknown]): boolean =>
    targets.some((target) => name.includes(target));
  const kept = [...changes].map(
    ([component, tensors]) => [component, new Map([...tensors].filter(isTarget))] as const,
  );
  return new Map(kept.filter(([, tensors]) => tensors.size > 0));
}

/** Refuses tensors of types that no kernel reads. */
function refuseTypes({ path }: ImageLora, changes: OpenLora['changes']): void {
  for (const { delta, magnitude } of [...changes.values()].flatMap((tensors) =>
    [...tensors.values()].flat(),
  )) {
    const bad = entriesOfChange({ delta, magnitude }).find(({ dtype }) => SOURCES[dtype] === undefined);
    if (bad === undefined) continue;
    throw unsupported(
      `${path}: ${bad.name} is stored as ${bad.dtype}, and only ${sourceNames()} are read: convert it`,
      bad.name,
    );
  }
}

/** Share of the smaller side of a matrix up to which factors beside it are worth their memory. */
const MOST_RANK = 0.5;
const SMALL_RANK = 64;

/** Codes are not rounded again: factors stand beside them, which not every form of change has. */
function refuseCodes(
  file: ImageLora,
  changes: OpenLora['changes'],
  components: LoraTarget['components'],
): void {
  for (const [component, tensors] of changes) {
    const stored = components.filesOf(component).tensors;
    for (const [name, own] of tensors) {
      const entry = stored.get(name)!;
      const problem = takesSums(entry) ? null : besideProblem(entry, own);
      if (problem === null) continue;
      const how = entry.isTransposed ? 'column by column' : `as ${entry.dtype}`;
      throw unsupported(
        `${file.path} changes ${own[0]!.module} by ${problem}, and the model stores ${name} ${how}, which takes low-rank factors of matrices only: give a model in f32, f16 or bf16, and quantize it while it is loaded`,
        'loraPath',
      );
    }
  }
}

/** The form of a change that cannot stand beside a tensor's codes; null: all can. */
function besideProblem({ shape }: Pick<TensorEntry, 'shape'>, changes: readonly Change[]): string | null {
  const [rows = 1, columns = 1, ...taps] = shape;
  if (shape.length < 2) return 'a difference of a vector';
  if (taps.some((size) => size > 1)) return 'a difference of a convolution';
  for (const { delta, magnitude } of changes) {
    if (magnitude) return 'DoRA, which scales whole rows';
    const rank = rankOfDelta(delta);
    if (rank === null) return 'a whole difference';
    if (rank > Math.max(MOST_RANK * Math.min(rows, columns), SMALL_RANK)) return `factors of rank ${rank}`;
  }
  return null;
}
