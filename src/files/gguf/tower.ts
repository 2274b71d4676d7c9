// The vision tower of a model of texts and images, which llama.cpp keeps in a file of its own (mmproj) beside that of the language model.

import type { TensorEntry } from '../checkpoint/safetensors.ts';
import { EngineError } from '../error.ts';
import { assertRange, type ByteSource, type Folder } from '../source.ts';
import { ggufSets, isGgufName } from './file-names.ts';
import type { GgufTensor } from './gguf.ts';
import { malformed } from './header-cursor.ts';
import type { GgufKeys } from './keys.ts';
import { openGgufFiles } from './open-files.ts';
import { entryOf } from './tensors.ts';

/** Declaration of the towers of a class. */
export interface GgufTower {
  /** clip.projector_type */
  projector: string;
  /** general.architecture of the language model's file. */
  text: string;
  /** The class of both together. */
  className: string;
  /** config.json of both together. */
  config(
    text: Readonly<Record<string, unknown>>,
    keys: { text: GgufKeys; tower: GgufKeys },
  ): Record<string, unknown>;
  /** The page's name of a tensor; null: the page has none such. */
  named(name: string): string | null;
}

export interface OpenedTower {
  keys: GgufKeys;
  tensors: Map<string, TensorEntry>;
  sources: ByteSource[];
}

/** Opens the tower beside the file of a language model; null: there is none. Throws unsupported for several, and for another kind. */
export async function openGgufTower(
  folder: Folder,
  names: readonly string[],
  tower: GgufTower,
): Promise<OpenedTower | null> {
  const models = new Set(ggufSets(names).flatMap((set) => set.names));
  const found = names.filter((name) => isGgufName(name) && !models.has(name) && /mmproj/i.test(name));
  const [name, other] = found;
  if (name === undefined) return null;
  if (other !== undefined)
    throw new EngineError(
      'unsupported',
      `${folder.path} holds the towers ${found.join(' and ')}: leave one of them in the folder`,
    );
  const { keys, tensors, sources } = await openGgufFiles(folder, name);
  try {
    const projector = keys.text('clip.vision.projector_type', keys.text('clip.projector_type', ''));
    if (projector !== tower.projector)
      throw keys.unsupported('clip.projector_type', `it is ${tower.projector}`);
    return { keys, tensors: towerTensors(keys.file, tensors, tower), sources };
  } catch (error) {
    await Promise.all(sources.map((source) => source.close()));
    throw error;
  }
}

const PATCHES = 'v.patch_embd.weight';
/** The second frame of the patches. */
const SECOND = `${PATCHES}.1`;

function towerTensors(
  file: string,
  tensors: ReadonlyMap<string, GgufTensor>,
  tower: GgufTower,
): Map<string, TensorEntry> {
  const entries = new Map<string, TensorEntry>();
  for (const tensor of tensors.values()) {
    if (tensor.name === SECOND) continue;
    const name = tower.named(tensor.name) ?? tensor.name;
    const entry = entryOf(tensor, { name, shape: tensor.shape });
    const second = tensor.name === PATCHES ? tensors.get(SECOND) : undefined;
    entries.set(name, second === undefined ? entry : joinFrames(file, entry, second));
  }
  return entries;
}

/** Patches of two frames [rows, channels, 2, patch, patch], of which a file has [rows, channels, patch, patch] each. */
function joinFrames(file: string, first: TensorEntry, second: GgufTensor): TensorEntry {
  const [rows = 0, channels = 0, ...patch] = first.shape;
  if (second.shape.join() !== first.shape.join() || second.type !== first.dtype || patch.length !== 2)
    throw malformed(
      file,
      `its patches are ${first.dtype} of [${first.shape.join(', ')}] and ${second.type} of [${second.shape.join(', ')}]`,
    );
  const chunk = first.bytes / rows / channels;
  const own = { name: first.source.name, size: first.offset + 2 * first.bytes };
  let joined: Promise<Uint8Array<ArrayBuffer>> | null = null;
  const join = async (): Promise<Uint8Array<ArrayBuffer>> => {
    const all = new Uint8Array(2 * first.bytes);
    const frames = [first, second] as const;
    for (const [frame, { source, offset, bytes }] of frames.entries()) {
      const values = await source.read(offset, bytes);
      for (let i = 0; i < rows * channels; i++)
        all.set(values.subarray(i * chunk, (i + 1) * chunk), (2 * i + frame) * chunk);
    }
    return all;
  };
  const read = async (offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> => {
    assertRange(own, offset, length);
    const at = offset - first.offset;
    return (await (joined ??= join())).slice(at, at + length);
  };
  const source: ByteSource = {
    ...own,
    read,
    readInto: async (offset, target) => target.set(await read(offset, target.length)),
    close: () => Promise.resolve(),
  };
  return { ...first, shape: [rows, channels, 2, ...patch], source, bytes: 2 * first.bytes };
}
