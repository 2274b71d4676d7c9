// LoRAs that a checkpoint brings along for prompts with media: they are on the device with its weights, and requests do not name them.

import type { Checkpoint } from '../../../files/checkpoint/checkpoint.ts';
import { openLora, type LoraFile, type LoraModule } from '../../../files/checkpoint/lora.ts';
import { badCheckpoint, EngineError } from '../../../files/error.ts';
import { closeAll, type Folder } from '../../../files/source.ts';
import type { MediaKind, MediaLora } from '../../../models/media.ts';
import type { Lora } from './loras.ts';

export interface OwnLora {
  kind: MediaKind;
  lora: Lora;
  file: LoraFile;
}

/** The first LoRA whose kind of media has tokens in a prompt; null: there is none. */
export function ownLoraFor(
  loras: readonly OwnLora[],
  tokens: Readonly<Partial<Record<MediaKind, number>>>,
): Lora | null {
  return loras.find(({ kind }) => tokens[kind] !== undefined)?.lora ?? null;
}

/** Opens the LoRAs of a class; the caller closes their files. `note` tells of one that the checkpoint lacks. Errors: bad_checkpoint, unsupported. */
export async function openOwnLoras(
  { path, beside }: Pick<Checkpoint, 'path' | 'beside'>,
  stated: readonly MediaLora[],
  note: (message: string) => void,
): Promise<OwnLora[]> {
  const opened: OwnLora[] = [];
  try {
    for (const one of stated) {
      const file = one.among ? amongWeights(path, beside!, one) : await inFolder(beside!.folder, one.folder);
      if (file === null) note(missing(path, one));
      else opened.push({ kind: one.kind, lora: ownLora(path, one.name, file), file });
    }
  } catch (error) {
    await closeAll(opened.map(({ file }) => file));
    throw error;
  }
  return opened;
}

const NOUNS: Record<MediaKind, string> = { image: 'images', video: 'videos', audio: 'sounds' };

const missing = (path: string, { folder, kind }: MediaLora): string =>
  `${path} has no LoRA ${folder}: ${NOUNS[kind]} are read without it; fetch the model again from where it was published`;

function ownLora(path: string, name: string, { rank }: LoraFile): Lora {
  // Equal weights of the model have equal LoRAs.
  const identity = `${name} of the model`;
  return { name, path, rank, identity, number: 0, requests: 0, lost: null, onDemand: false };
}

/** The modules of a LoRA whose factors are among the weights; null: there are none. */
function amongWeights(
  path: string,
  { tensors }: NonNullable<Checkpoint['beside']>,
  { name, among }: MediaLora,
): LoraFile | null {
  const { rank, scale } = among!;
  const end = `.lora_A.${name}.weight`;
  const modules = [...tensors].flatMap(([tensor, a]): LoraModule[] => {
    if (!tensor.endsWith(end)) return [];
    const module = tensor.slice(0, -end.length);
    const b = tensors.get(`${module}.lora_B.${name}.weight`);
    const isWhole =
      a.shape.length === 2 && a.shape[0] === rank && b?.shape.length === 2 && b.shape[1] === rank;
    if (!isWhole)
      throw badCheckpoint(
        `${path}: the LoRA of ${name} has no factors of rank ${rank}, which config.json states, for ${module}: take both files from where the model was published`,
        tensor,
      );
    return [{ name: `model.${module}`, a, b, rank, scale }];
  });
  if (modules.length === 0) return null;
  return { path, modules, rank, identity: name, close: () => Promise.resolve() };
}

/** The LoRA in a folder of the checkpoint; null: there is no such folder. */
async function inFolder(folder: Folder | undefined, name: string): Promise<LoraFile | null> {
  if (folder === undefined) return null;
  const within: Folder = {
    path: `${folder.path}/${name}`,
    names: () => Promise.resolve(['adapter_config.json', 'adapter_model.safetensors']),
    open: (file) => folder.open(`${name}/${file}`),
  };
  try {
    return await openLora(within);
  } catch (error) {
    if (error instanceof EngineError && error.code === 'model_not_found') return null;
    throw error;
  }
}
