// The media that a checkpoint's class takes beside text.

import type { Checkpoint } from '../../../files/checkpoint/checkpoint.ts';
import { turned } from '../../../files/tensors/turned.ts';
import type { TensorEntry } from '../../../files/tensors/safetensors.ts';
import { EngineError } from '../../../files/error.ts';
import { mediaFamily } from '../../../models/towers/media-families.ts';
import type { TextDeclaration } from '../../../models/text/blocks/architecture.ts';
import { collect } from '../../weights/collect.ts';
import { openOwnLoras } from '../lora/own-loras.ts';
import type { RunnerMedia } from './tower-weights.ts';

/**
 * Returns null for a model that takes text only, for a checkpoint without the towers of its class or without their processor, and, with a
 * note, for towers that are not built. Errors: bad_checkpoint.
 */
export function readMedia(
  { wrapper, beside }: Pick<Checkpoint, 'wrapper' | 'beside'>,
  { hidden }: Pick<TextDeclaration, 'hidden'>,
  note: (message: string) => void,
): RunnerMedia | null {
  const family = wrapper && mediaFamily(wrapper.architecture);
  if (!family || !beside) return null;
  const needsProcessor = !family.withoutProcessors?.includes(wrapper.architecture);
  if (needsProcessor && Object.keys(beside.processors).length === 0) return null;
  const { config, processors } = beside;
  try {
    const model = family.read({ config, processors, hidden });
    const tensors = withTransposed(beside.tensors, model.transposed ?? []);
    const isThere = Object.values(model.towers).every((page) =>
      collect(tensors, page).requests.some(({ names }) => names.some((name) => tensors.has(name))),
    );
    return isThere ? { model, tensors } : null;
  } catch (error) {
    if (!(error instanceof EngineError) || error.code !== 'unsupported') throw error;
    note(error.message);
    return null;
  }
}

/** The same, with the LoRAs that the class has for media; the caller closes their files. Errors: bad_checkpoint, unsupported. */
export async function openMedia(
  checkpoint: Pick<Checkpoint, 'path' | 'wrapper' | 'beside'>,
  declaration: Pick<TextDeclaration, 'hidden'>,
  note: (message: string) => void,
): Promise<RunnerMedia | null> {
  const media = readMedia(checkpoint, declaration, note);
  if (!media?.model.loras) return media;
  return { ...media, loras: await openOwnLoras(checkpoint, media.model.loras, note) };
}

function withTransposed(
  tensors: ReadonlyMap<string, TensorEntry>,
  names: readonly string[],
): ReadonlyMap<string, TensorEntry> {
  const changed = names.flatMap((name) => {
    const entry = tensors.get(name);
    if (!entry) return [];
    return [[name, turned(entry)] as const];
  });
  return changed.length === 0 ? tensors : new Map([...tensors, ...changed]);
}

/** The declaration of a text model whose prompts hold media. */
export function withMedia(declaration: TextDeclaration, media: RunnerMedia | null): TextDeclaration {
  if (!media) return declaration;
  const { spans: span, added } = media.model;
  const inputs = { ...declaration.inputs, ...(added && { added }) };
  return { ...declaration, inputs: span === false ? inputs : { ...inputs, attention: 'spans', span } };
}
