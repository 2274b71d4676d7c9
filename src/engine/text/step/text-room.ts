// Buffers on a device for a batch of whole texts: step buffers with their writer, and the layers' KV pages. Embeddings and the text
// encoders of images use it.

import type { Device } from '../../../gpu/device.ts';
import { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { TILE_ROWS, type KvFormat } from '../../../kernels/batch.ts';
import type { TextDeclaration } from '../../../models/text/blocks/architecture.ts';
import { ropeWords } from '../../../models/text/blocks/rope.ts';
import { LayerStores } from '../kv/layer-stores.ts';
import { wholeLayout } from '../kv/page-layout.ts';
import { BatchWriter } from './batch-writer.ts';
import { createStepBuffers, type StepBuffers } from './step-buffers.ts';

export interface RoomSizes {
  rows: number;
  /** Limit on the texts of a batch. */
  texts: number;
  pages: number;
  format: KvFormat;
  /** Rows and columns of embeddings that stand in the place of tokens; left out: none. */
  inputs?: { rows: number; columns: number };
}

export class TextRoom {
  readonly buffers: StepBuffers;
  readonly writer: BatchWriter;
  readonly stores: LayerStores;
  readonly sizes: RoomSizes;
  readonly #device: Device;

  constructor(
    device: Device,
    declaration: Pick<TextDeclaration, 'ropes' | 'inputs' | 'layers'>,
    sizes: RoomSizes,
  ) {
    const { rows, texts, pages, format, inputs } = sizes;
    this.#device = device;
    this.sizes = sizes;
    this.buffers = createStepBuffers(device, {
      rows,
      tiles: this.tiles(rows),
      pages,
      sequences: texts,
      pooled: texts,
      sampled: texts,
      biases: 0,
      slots: texts,
      ropeWords: ropeWords(declaration.ropes),
      model: declaration.inputs,
      ...(inputs && { inputs }),
    });
    this.writer = new BatchWriter(this.buffers, declaration);
    const { layers } = declaration;
    const { tables } = this.buffers;
    const layout = wholeLayout(layers, format);
    this.stores = new LayerStores(device, layers, { format, layout, pages, tables, slots: texts });
    this.stores.clear();
  }

  /** Upper bound of the tiles for `rows` rows of these texts. */
  tiles(rows: number): number {
    return Math.ceil(rows / TILE_ROWS) + this.sizes.texts;
  }

  /** Records `forward` for up to `rows` rows on a tape, of which any may have a LoRA if `adapted`; the tensor that it returns is kept after a replay. */
  record(
    rows: number,
    { plain = false, adapted = false }: { plain?: boolean; adapted?: boolean },
    forward: (tape: Tape) => Tensor,
  ): { tape: Tape; states: Tensor } {
    const { texts, pages } = this.sizes;
    const capacity = {
      ...{ rows, tiles: this.tiles(rows), tileRows: TILE_ROWS },
      ...{ sampled: texts, sequences: texts, contextPages: pages },
    };
    const tape = new Tape(this.#device, capacity, {
      plain,
      rowLoras: adapted ? this.buffers.batch.adapters : null,
    });
    const states = tape.keep(forward(tape));
    tape.finish();
    return { tape, states };
  }

  free(): void {
    this.buffers.destroy();
    this.stores.free();
  }
}
