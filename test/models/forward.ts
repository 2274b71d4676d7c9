// Forward passes of a text model without the engine: a single sequence, all rows at once or in steps.

import { TEXT_CLASSES } from '../../src/engine/opening/architectures.ts';
import { LoraStore } from '../../src/engine/weights/adapt.ts';
import { BatchWriter } from '../../src/engine/text/step/batch-writer.ts';
import { createStepBuffers } from '../../src/engine/text/step/step-buffers.ts';
import { FORMATS } from '../../src/kernels/formats.ts';
import { openWeights } from '../../src/engine/weights/weights.ts';
import { openCheckpoint } from '../../src/files/checkpoint/checkpoint.ts';
import { openLora } from '../../src/files/checkpoint/lora.ts';
import { openDiskFolder } from '../../src/files/disk/source-disk.ts';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import type { Region } from '../../src/gpu/tensor.ts';
import { NO_LORA, PAGE_TOKENS, TILE_ROWS, type KvFormat, type LayerStore } from '../../src/kernels/batch.ts';
import type {
  KvState,
  LayerState,
  TextDeclaration,
  TextForward,
} from '../../src/models/text/blocks/architecture.ts';
import { readText } from '../../src/models/text/registry.ts';
import { ropeWords } from '../../src/models/text/blocks/rope.ts';
import type { WeightTable } from '../../src/models/weights.ts';

export interface ForwardOptions {
  /** Members that override config.json's. */
  overrides?: Record<string, unknown>;
  format?: 'int8' | 'int4' | null;
  kv?: KvFormat;
  /** Limit on the rows of a step, all of which may be sampled. */
  rows?: number;
  plain?: boolean;
  /** Folders of LoRA adapters, numbered in order. */
  loras?: readonly string[];
  /** Returns states after this many layers instead of logits. */
  depth?: number;
  /** Pages of a segment, where rows see keys and values that are expanded from latents. */
  segmentPages?: number;
}

export interface Forward {
  dispatches: number;
  /**
   * Appends ids to the sequence and returns the logits, or states, of each. `length` gives the length on which rope scaling
   * depends, by position.
   */
  step(
    ids: readonly number[],
    length: (position: number) => number,
    adapterOf?: (row: number) => number | null,
  ): Promise<Float32Array[]>;
  close(): void;
}

function wholeModel({ generate }: TextDeclaration, weights: WeightTable): TextForward {
  const { states, head } = generate!(weights);
  return (tape, batch, kv) => head(states(tape, batch, kv), batch);
}

const INPUTS = { embeddings: false, attention: 'causal' } as const;

/** Pages in a permuted order, so that ignoring the page table gives wrong results. */
const PAGES = [1, 3, 0, 2];

/** Value of places in a page without a token: large and finite, as f32 and as a pair of f16. */
const GARBAGE = 0x70007000;

export async function openForward(
  device: Device,
  folder: string,
  options: ForwardOptions = {},
): Promise<Forward> {
  const checkpoint = await openCheckpoint(await openDiskFolder(folder), TEXT_CLASSES);
  const json = { ...checkpoint.config, ...options.overrides };
  const declared = readText(json, checkpoint.architecture);
  const { depth, format: quantization = null } = options;
  const weights = openWeights(
    device,
    checkpoint.tensors,
    (table) => (depth === undefined ? wholeModel(declared, table) : declared.states!(table, [depth])),
    { format: quantization && FORMATS[quantization] },
  );
  const model = weights.page;
  await weights.load();
  const loras = new LoraStore(device, weights.adaptable);
  for (const path of options.loras ?? []) {
    const file = await openLora(await openDiskFolder(path));
    (await loras.prepare({ number: 0 }, file)).commit();
    await file.close();
  }
  await checkpoint.close();

  const rows = options.rows ?? 64;
  const inputs = { ...INPUTS, positions: declared.inputs.positions };
  const buffers = createStepBuffers(device, {
    rows,
    sampled: rows,
    tiles: Math.ceil(rows / TILE_ROWS),
    pages: PAGES.length,
    biases: 0,
    slots: 1,
    sequences: 1,
    ropeWords: ropeWords(declared.ropes),
    model: inputs,
  });
  const format = options.kv ?? 'f32';
  const state = (bytes: number): Region => {
    const buffer = device.allocate('kv', 'states', bytes);
    device.gpu.queue.writeBuffer(buffer, 0, new Uint32Array(buffer.size / 4).fill(GARBAGE));
    return { buffer, offset: 0, size: buffer.size };
  };
  const pages = ({ kvHeads, dims }: KvState): Region =>
    state((PAGES.length * PAGE_TOKENS * kvHeads * dims * 4) / (format === 'f16' ? 2 : 1));
  const stores: LayerStore[] = [];
  const storeOf = (layer: LayerState): LayerStore => {
    if (layer.kind === 'shared') return stores[layer.layer]!;
    if (layer.kind === 'slot') return { kind: 'slot', values: state(4 * layer.values) };
    const table = buffers.tables[0]!;
    return { kind: 'kv', format, table, keys: pages(layer), values: layer.latent ? null : pages(layer) };
  };
  for (const layer of declared.layers) stores.push(storeOf(layer));
  const capacity = {
    rows,
    sampled: rows,
    tiles: Math.ceil(rows / TILE_ROWS),
    tileRows: TILE_ROWS,
    sequences: 1,
    contextPages: PAGES.length,
    ...(options.segmentPages && { expandedPages: PAGES.length, segmentPages: options.segmentPages }),
  };
  const rowLoras = options.loras ? buffers.batch.adapters : null;
  const tape = new Tape(device, capacity, { plain: options.plain ?? false, rowLoras });
  const logits = tape.keep(model(tape, buffers.batch, stores));
  tape.finish();
  const writer = new BatchWriter(buffers, { ropes: declared.ropes, inputs });
  let past = 0;

  return {
    dispatches: tape.dispatchCount,
    async step(ids, length, adapterOf = () => null) {
      const { words } = buffers;
      const known = new Array<number>(past).fill(0).concat(ids);
      writer.begin({ adapted: true, expanded: options.segmentPages !== undefined });
      const part = { first: past, rows: ids.length, ids: known, slot: 0, tables: [PAGES] };
      writer.add({ ...part, lengthAt: length });
      ids.forEach((_, i) => {
        words.wanted[i] = i;
        words.adapters[i] = words.sampledAdapters[i] = adapterOf(i) ?? NO_LORA;
      });
      const sizes = writer.end({ wanted: ids.length, sampledAdapters: ids.length });
      tape.run({ ...sizes, sampled: ids.length });
      past += ids.length;
      const floats = new Float32Array(await device.read(tape.region(logits)));
      const error = device.takeError();
      if (error) throw error;
      return ids.map((_, i) => floats.slice(i * logits.stride, i * logits.stride + logits.columns));
    },
    close() {
      buffers.destroy();
      for (const store of new Set(stores))
        for (const held of store.kind === 'kv' ? [store.keys, store.values] : [store.values])
          if (held) device.free(held.buffer);
    },
  };
}
