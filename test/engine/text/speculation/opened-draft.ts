// A golden draft model beside its target, which has computed a text but its last token, and the same as a page of which every row's logits are read.

import { TEXT_CLASSES } from '../../../../src/engine/opening/architectures.ts';
import { wholeLayout } from '../../../../src/engine/text/kv/page-layout.ts';
import { walkOf, writeKnown } from '../../../../src/engine/text/speculation/drafts/pass-rows.ts';
import { recordPass } from '../../../../src/engine/text/speculation/drafts/draft-tapes.ts';
import {
  openDraftSource,
  ownDraftSource,
} from '../../../../src/engine/text/speculation/drafts/open-draft.ts';
import { BatchWriter } from '../../../../src/engine/text/step/batch-writer.ts';
import type { DraftPart, RunnerDrafts } from '../../../../src/engine/text/step/runner-drafts.ts';
import { createStepBuffers } from '../../../../src/engine/text/step/step-buffers.ts';
import { TextRoom } from '../../../../src/engine/text/step/text-room.ts';
import { openWeights } from '../../../../src/engine/weights/weights.ts';
import { openCheckpoint, type Checkpoint } from '../../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import type { LayerStore } from '../../../../src/kernels/batch.ts';
import type { DraftPage } from '../../../../src/models/text/blocks/architecture.ts';
import { withDraft } from '../../../../src/models/text/draft-registry.ts';
import { readText } from '../../../../src/models/text/registry.ts';
import { ropeWords } from '../../../../src/models/text/blocks/rope.ts';

export interface OpenedDraft {
  drafts: RunnerDrafts;
  /** Logits that the draft model gives behind each token but the last, or, where it keeps its place, behind the whole text. */
  logits(): Promise<Float32Array[]>;
}

const PAGES = 3;
const TABLE = [2, 0, 1];
const ROWS = 48;

/** Tokens of the text from `first` to `end`, as they are told to a draft model. */
export function part(ids: readonly number[], first: number, end: number, drafts: number): DraftPart {
  const lengthAt = (): number => ids.length;
  return { row: first, first, rows: end - first, ids, tables: [TABLE], lengthAt, drafts };
}

/** `folder`: that of the draft model, which has its target's weights too if there is no `target`. */
export async function openDrafted(
  device: Device,
  { folder, target }: { folder: string; target: string | null },
  ids: readonly number[],
): Promise<OpenedDraft> {
  const checkpoint = await openCheckpoint(await openDiskFolder(target ?? folder), TEXT_CLASSES);
  const stated = readText(checkpoint.config, checkpoint.architecture);
  const tokenizer = { vocabSize: 0, tokenBytes: () => new Uint8Array(0) };
  const beside =
    target === null
      ? null
      : await openDraftSource(await openDiskFolder(folder), { declaration: stated, tokenizer });
  const source = beside?.source ?? ownDraftSource(stated, checkpoint.tensors);
  const { declaration: draft } = source;
  const declaration = withDraft(stated, draft, source);
  const weights = openWeights(device, checkpoint.tensors, declaration.generate!, { format: null });
  await weights.load();
  const make = await source.load(device, weights.page, { unread: false });
  const room = new TextRoom(device, declaration, { rows: ROWS, texts: 1, pages: PAGES, format: 'f32' });
  const drafts = make({
    layout: wholeLayout(declaration.layers, 'f32'),
    ...{ targetLayers: stated.layers.length, slots: 4, rows: ROWS, contextPages: PAGES },
  });
  drafts.record(room.stores.all);
  compute(
    room,
    ids,
    (tape) => {
      const { batch } = room.buffers;
      return weights.page.target!.states(tape, batch, room.stores.all, draft.taken!).taken;
    },
    drafts,
  );
  return {
    drafts,
    async logits() {
      const page =
        weights.page.draft ?? (await pageBeside(device, beside!.checkpoint, draft, weights.page.target!));
      return allLogits(device, { drafts, page, room, targetLayers: stated.layers.length }, ids);
    },
  };
}

/** Runs the target over the text but its last token, and gives the draft model what it takes. */
function compute(
  room: TextRoom,
  ids: readonly number[],
  record: Parameters<TextRoom['record']>[2],
  { targets }: RunnerDrafts,
): void {
  const { tape, states: taken } = room.record(ROWS, {}, record);
  room.writer.begin();
  const rows = ids.length - 1;
  room.writer.add({ first: 0, rows, ids, slot: 0, lengthAt: () => ids.length, tables: [TABLE] });
  const sizes = room.writer.end();
  tape.run(sizes, {
    last(encoder) {
      const { buffer, offset } = tape.region(taken);
      encoder.copyBufferToBuffer(buffer, offset, targets!.buffer, 0, taken.bytes(sizes));
    },
  });
}

async function pageBeside(
  device: Device,
  { tensors }: Checkpoint,
  draft: RunnerDrafts['declaration'],
  target: Parameters<typeof draft.page>[1],
): Promise<DraftPage> {
  const weights = openWeights(device, tensors, (table) => draft.page(table, target), { format: null });
  await weights.load();
  return weights.page;
}

interface Pages {
  drafts: RunnerDrafts;
  page: DraftPage;
  room: TextRoom;
  targetLayers: number;
}

/** A pass in which each row is a part of its own, so that all are wanted. */
async function allLogits(
  device: Device,
  { drafts, page, room, targetLayers }: Pages,
  ids: readonly number[],
): Promise<Float32Array[]> {
  const { declaration, targets } = drafts;
  const { positions, ropes, layers, hidden, taken } = declaration;
  const walk = walkOf(declaration);
  const known = ids.length - 1;
  const model = { positions, attention: 'causal', embeddings: false } as const;
  const buffers = createStepBuffers(device, {
    ...{ rows: ROWS, tiles: ROWS, sampled: ROWS, slots: ROWS, pages: ROWS * PAGES, biases: 0 },
    ...{ ropeWords: ropeWords(ropes), model },
  });
  const stores = layers.map((layer, i): LayerStore => {
    const store = room.stores.all[layer.kind === 'shared' ? layer.layer : targetLayers + i]!;
    return store.kind === 'kv' ? { ...store, table: buffers.tables[0]! } : store;
  });
  const first = walk === 'still' ? known - 1 : 0;
  const columns = taken === 'normed' ? hidden : taken!.length * hidden;
  const region = { ...targets!, offset: 4 * columns * first, size: targets!.size - 4 * columns * first };
  const recipe = { page, stores, batch: buffers.batch, slots: ROWS, contextPages: PAGES, offsets: null };
  const pass = recordPass(device, recipe, ROWS, { region, columns, isTaken: true });
  const parts = Array.from({ length: known - first }, (_, i) => ({
    ...part(ids, first + i, first + i + 1, 1),
    index: i,
    hasRoom: true,
  }));
  const sizes = writeKnown(new BatchWriter(buffers, { ropes, inputs: model }), parts, walk, false);
  pass.tape.run({ ...sizes, drawn: 0, cut: 0 });
  const values = new Float32Array(await device.read(pass.tape.region(pass.logits)));
  const { stride, columns: vocabulary } = pass.logits;
  return parts.map((_, i) => values.slice(i * stride, i * stride + vocabulary));
}
