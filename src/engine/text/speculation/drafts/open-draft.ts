// Draft models by their files: heads among the model's own weights, or a checkpoint of its own, whose vocabulary has to be the model's.

import { openCheckpoint } from '../../../../files/checkpoint/checkpoint.ts';
import type { KnownClasses } from '../../../../files/checkpoint/architecture.ts';
import type { Checkpoint } from '../../../../files/checkpoint/opened-checkpoint.ts';
import { badCheckpoint, unsupported } from '../../../../files/error.ts';
import type { Folder } from '../../../../files/source.ts';
import type { TensorEntry } from '../../../../files/tensors/safetensors.ts';
import type { Tokenizer } from '../../../../files/tokenizer/tokenizer.ts';
import type { Device } from '../../../../gpu/device.ts';
import type {
  DraftDeclaration,
  DraftTarget,
  LanguageModel,
  TextDeclaration,
} from '../../../../models/text/blocks/architecture.ts';
import { DRAFT_CLASSES, ownDraft, readDraft } from '../../../../models/text/draft-registry.ts';
import { draftOf } from '../../../../models/text/drafts/language-model.ts';
import { readText } from '../../../../models/text/registry.ts';
import { TEXT_CLASSES } from '../../../opening/architectures.ts';
import { collect } from '../../../weights/collect.ts';
import { weightBytesIn } from '../../../weights/quantization.ts';
import { openWeights } from '../../../weights/weights.ts';
import type { DraftModelSource } from '../../step/runner-drafts.ts';
import { DraftModel, type DraftParts } from './draft-model.ts';

type Tensors = ReadonlyMap<string, TensorEntry>;

/** The heads among the model's own weights that predict several tokens ahead. Throws unsupported if it has none. */
export function ownDraftSource(target: TextDeclaration, tensors: Tensors): DraftModelSource {
  const declaration = ownDraft(target, tensors);
  return {
    declaration,
    isOwn: true,
    bytes: () => 0,
    load: async (device, model) => {
      const page = model.draft!;
      const takenColumns = takenColumnsOf(declaration, target.hidden);
      return (sizes) => new DraftModel(device, { declaration, page, takenColumns, offsets: null }, sizes);
    },
  };
}

/** What a draft model's checkpoint is compared with. */
export interface DraftedModel {
  declaration: TextDeclaration;
  tokenizer: Pick<Tokenizer, 'vocabSize' | 'tokenBytes'>;
}

export interface OpenedDraft {
  source: DraftModelSource;
  checkpoint: Checkpoint;
}

/** Opens a draft model's checkpoint. Errors: unsupported for one that is not made for the model, bad_checkpoint, what reading throws. */
export async function openDraftSource(folder: Folder, target: DraftedModel): Promise<OpenedDraft> {
  const checkpoint = await openCheckpoint(folder, draftClasses());
  try {
    const declaration = await declarationOf(checkpoint, target);
    return { source: sourceOf(checkpoint, declaration, target.declaration.hidden), checkpoint };
  } catch (error) {
    await checkpoint.close();
    throw error;
  }
}

function draftClasses(): KnownClasses {
  return {
    ...TEXT_CLASSES,
    names: [...TEXT_CLASSES.names, ...DRAFT_CLASSES],
    textHalf: (config, architecture) =>
      DRAFT_CLASSES.includes(architecture) ? null : (TEXT_CLASSES.textHalf?.(config, architecture) ?? null),
  };
}

async function declarationOf(checkpoint: Checkpoint, target: DraftedModel): Promise<DraftDeclaration> {
  const { config, architecture, configSource } = checkpoint;
  const { source, architecture: drafted } = target.declaration;
  if (source) throw unsupported(`${drafted} takes no draft model: leave it out, or draft by ngram`);
  const file = { name: configSource.name, keys: {} };
  const draft = readDraft(config, architecture, target.declaration, file);
  if (draft !== null) return draft;
  const declaration = draftOf(readText(config, architecture, configSource), target.declaration);
  checkTokens(await checkpoint.tokenizer(), target.tokenizer, architecture);
  return declaration;
}

/** Throws unsupported where an id does not stand for the same bytes in both. */
function checkTokens(
  own: Pick<Tokenizer, 'vocabSize' | 'tokenBytes'>,
  target: DraftedModel['tokenizer'],
  name: string,
): void {
  const count = Math.max(own.vocabSize, target.vocabSize);
  for (let id = 0; id < count; id++) {
    const [a, b] = [own.tokenBytes(id), target.tokenBytes(id)];
    if (a.length === b.length && a.every((byte, i) => byte === b[i])) continue;
    throw unsupported(
      `the draft model ${name} has another tokenizer than the model (they differ in token ${id}): choose a smaller model of the same series`,
    );
  }
}

function sourceOf(
  { tensors, configSource }: Checkpoint,
  declaration: DraftDeclaration,
  targetHidden: number,
): DraftModelSource {
  const pageFor = (target: DraftTarget) => (weights: Parameters<DraftDeclaration['page']>[0]) =>
    declaration.page(weights, target);
  return {
    declaration,
    isOwn: false,
    bytes(device, own, { generate }) {
      const { page } = collect<LanguageModel>(own, generate!);
      return weightBytesIn(device, tensors, pageFor(page.target!))('none');
    },
    async load(device, model: LanguageModel, { unread }) {
      if (!model.target) throw unsupported(`${declaration.name} takes states of the model, which tells none`);
      const weights = openWeights(device, tensors, pageFor(model.target), { format: null, configSource });
      await weights.load({ unread });
      const parts: DraftParts = {
        declaration,
        page: weights.page,
        takenColumns: takenColumnsOf(declaration, targetHidden),
        offsets: await loadOffsets(device, declaration, tensors, unread),
      };
      return (sizes) => new DraftModel(device, parts, sizes);
    },
  };
}

function takenColumnsOf({ taken }: DraftDeclaration, hidden: number): number {
  if (taken === null) return 0;
  return taken === 'normed' ? hidden : taken.length * hidden;
}

/** Integers of 64 or 32 bits, of which the lower 32 count. */
const WORDS: Readonly<Record<string, number>> = { I64: 2, I32: 1 };

/** What is added to the tokens of a draft model's own vocabulary. Throws bad_checkpoint where a sum is not a token of the target. */
async function loadOffsets(
  device: Device,
  { tokenOffsets, vocabulary }: DraftDeclaration,
  tensors: Tensors,
  unread: boolean,
): Promise<DraftParts['offsets']> {
  if (tokenOffsets === null) return null;
  const { name, count } = tokenOffsets;
  const entry = tensors.get(name);
  const words = entry && WORDS[entry.dtype];
  if (!entry || !words || entry.shape.join() !== `${count}`)
    throw badCheckpoint(
      `tensor ${name} ${entry ? `is ${entry.dtype} [${entry.shape.join(', ')}]` : 'is missing'}, and ${count} integers are needed that turn the draft model's tokens into those of the model: fetch the checkpoint again`,
      name,
    );
  const buffer = device.allocate('weights', name, 4 * count);
  const region = { buffer, offset: 0, size: 4 * count };
  if (unread) return { region, count };
  const read = await entry.source.read(entry.offset, entry.bytes);
  const all = new Uint32Array(read.slice().buffer);
  const offsets = Uint32Array.from({ length: count }, (_, i) => all[i * words]!);
  const beyond = offsets.findIndex((offset, i) => (i + offset) >>> 0 >= vocabulary);
  if (beyond >= 0)
    throw badCheckpoint(
      `tensor ${name} turns token ${beyond} into ${(beyond + offsets[beyond]!) >>> 0}, and the model has ${vocabulary}: fetch the checkpoint again`,
      name,
    );
  device.gpu.queue.writeBuffer(buffer, 0, offsets);
  return { region, count };
}
